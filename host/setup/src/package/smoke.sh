# Serves with a demonstration, an app and, if the binary has models, a static model of three words; then asks each service.
# Instances are allocated on demand, as emulators reserve little address space, and nothing is compiled, as a program cannot start
# itself in an emulator.
set=$1 target=$2 compiler=$3 components=$4
shift 4
folder=$(mktemp --directory)
trap 'kill $host 2> /dev/null || true; rm --recursive --force "$folder"' EXIT
minisign -G -W -p "$folder/packs.pub" -s "$folder/packs.key"
# Prints the keys of a table that has the pack of a component; emulated code is slow.
packed() {
    "$compiler" component compile "$components/$1.wasm" --target "$target" --sign "$folder/packs.key" \
        --output "$folder/$1.cwasm" >&2
    printf 'component = "%s"\n' "$folder/$1.cwasm"
}
patient='cpu_ms = 60000\ndeadline_ms = 300000\n'
{
    printf '[sandbox]\nallocator = "on-demand"\npack_keys = ["%s"]\n' "$(tail --lines 1 "$folder/packs.pub")"
    for slot in captcha status; do
        printf "[slots.$slot]\n$patient"
        if test $set = full; then packed $slot; fi
    done
    printf "[apps.hello]\npath_prefix = '/hello'\n$patient"
    packed hello-rust
} > "$folder/bulkhead.toml"
if test $set = full; then
    {
        for slot in triage answer; do
            printf "[slots.$slot]\n$patient"
            packed $slot
        done
        printf '[embedding]\nmodels = ["%s"]\n' "$folder/toy"
    } >> "$folder/bulkhead.toml"
    mkdir "$folder/toy"
    echo '{"model_type":"model2vec"}' > "$folder/toy/config.json"
    echo '{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":{"type":"BertNormalizer",
        "clean_text":true,"handle_chinese_chars":true,"strip_accents":null,"lowercase":true},
        "pre_tokenizer":{"type":"BertPreTokenizer"},"post_processor":null,"decoder":null,
        "model":{"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##","max_input_chars_per_word":100,
        "vocab":{"[PAD]":0,"[UNK]":1,"hello":2}}}' > "$folder/toy/tokenizer.json"
    # The length of the header (72), the header, and twelve times the number one.
    {
        printf '\110\0\0\0\0\0\0\0'
        printf '%-72s' '{"embeddings":{"dtype":"F32","shape":[3,4],"data_offsets":[0,48]}}'
        printf '\0\0\200\077%.0s' 1 2 3 4 5 6 7 8 9 10 11 12
    } > "$folder/toy/model.safetensors"
fi
public=127.0.0.2:18080 operators=127.0.0.2:19901
"$@" serve --demo --config "$folder/bulkhead.toml" --data-dir "$folder/data" --listen $public --admin-listen $operators &
host=$!
tries=600
until curl --silent --fail http://$operators/health/ready; do
    kill -0 $host
    tries=$((tries - 1))
    test $tries -gt 0
    sleep 1
done
ask() { curl --silent --show-error --fail "$@"; }
post() { ask --header 'content-type: application/json' --data "$1" http://$public$2; }
post '{"siteKey":"demo","siteSecret":"demo","clientAddress":"192.0.2.1"}' /api/v1/captcha/challenge
ask --header 'x-token: demo' http://$public/terminvereinbarung/api/2/status/
ask http://$public/hello
if test $set = full; then
    post '{"inputs":["hello"]}' /embed
    post '{"text":"hello"}' /api/v1/triage
    post '{"text":"hello","category":"id_documents","action":"answer"}' /api/v1/answer
fi
kill $host
wait $host
