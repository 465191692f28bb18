//! Fuzzes tokenizer definitions.

#![no_main]

// A panic of the reference tokenizer is caught and is a refusal; libFuzzer's own hook would end the run at it.
// One that nobody catches still does.
libfuzzer_sys::fuzz_target!(init: { std::panic::set_hook(Box::new(said)); }, |data: &[u8]| {
    bulkhead_fuzz::files::tokenizer_json(data);
});

fn said(panic: &std::panic::PanicHookInfo<'_>) {
    let caught = panic.location().is_some_and(|location| location.file().contains("tokenizers"));
    if !caught {
        eprintln!("{panic}");
    }
}
