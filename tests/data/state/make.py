"""Makes the folder `written`: what the hosts of an earlier version keep, which `operators::earlier_state` reads.

    python3 tests/data/state/make.py PROGRAM

PROGRAM is `bulkhead`, built from the earlier version. `written` was made with commit 12a9031, the last one before the
slots of a host became a list; make it again only to read the state of a later version, and write its commit here. The
script needs `openssl` and Debian's `postgresql`, and listens on loopback only.

`local` is the data folder of a host by itself, `shared` that of a host on PostgreSQL, whose database is `shared.sql`.
Machine code and the reserve are left out: a host makes them again. `local.json` and `shared.json` are what the hosts
said of their slots before they stopped. The hosts ran in a folder with `bulkhead.toml`, `captcha.wasm` and
`status.wasm`, so that no path of the machine is in their state. Their secrets guard nothing, and nobody has the key of
the signatures any more.

`captcha.wasm` and `status.wasm` beside this script are made from their `.wat` files (`wasm-tools parse`). A version is
one of these with another letter.
"""

import base64
import hashlib
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
WRITTEN = HERE / "written"
# Tokens and master key of the suite: `operator::DEPLOY`, `operator::ADMIN`, `host::HMAC_KEY`.
DEPLOY = "bulkhead_a-token-that-may-deploy"
ADMIN = "bulkhead_a-token-that-may-everything"
HMAC_KEY = "test-master-key-of-at-least-32-characters"
# What a host makes again.
LEFT_OUT = ["compiled", "reserve"]
# When the component of each letter is signed, Unix seconds.
SIGNED = {"A": 1_700_000_100, "B": 1_700_000_200, "C": 1_700_000_300}
# Seconds that a start or a stop may take.
PATIENCE = 60

CONFIGURATION = """\
[admin.tokens.deploy]
scope = "deploy"
hash = "sha256:{deploy}"
[admin.tokens.admin]
scope = "admin"
hash = "sha256:{admin}"
[services.embedding]
enabled = false
[services.tickets]
enabled = false
[captcha.sites.shop]
secret = "shop-secret"
compat = true
difficulty_map = [{{ min_visits = 1, cost = 1 }}]
[slots.captcha]
component = "captcha.wasm"
[slots.status]
component = "status.wasm"
[slots.status.signatures]
policy = "required"
keys = ["{key}"]
"""


def run(*command, **options):
    """Runs a program that must succeed; its standard output."""
    done = subprocess.run([str(part) for part in command], capture_output=True, **options)
    if done.returncode:
        sys.exit(f"{command}: {done.returncode}\n{done.stdout.decode()}{done.stderr.decode()}")
    return done.stdout


def wait(what, condition):
    """Waits until `condition` gives something."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        if found := condition():
            return found
        time.sleep(0.1)
    sys.exit(f"not in time: {what}")


class Signer:
    """Signs as minisign does: the older form, over the bytes themselves."""

    ID = b"earlier0"

    def __init__(self, folder):
        self.folder, self.pem = folder, folder / "key.pem"
        run("openssl", "genpkey", "-algorithm", "ed25519", "-out", self.pem)

    def line(self, content):
        return base64.b64encode(b"Ed" + self.ID + content).decode()

    def key(self):
        der = run("openssl", "pkey", "-in", self.pem, "-pubout", "-outform", "DER")
        return self.line(der[-32:])

    def raw(self, content):
        file = self.folder / "content"
        file.write_bytes(content)
        return run("openssl", "pkeyutl", "-sign", "-inkey", self.pem, "-rawin", "-in", file)

    def sign(self, file, seconds):
        """Writes FILE.minisig."""
        signature, comment = self.raw(file.read_bytes()), f"timestamp:{seconds}\tfile:{file.name}"
        lines = [
            "untrusted comment: of a component of the tests",
            self.line(signature),
            f"trusted comment: {comment}",
            base64.b64encode(self.raw(signature + comment.encode())).decode(),
        ]
        pathlib.Path(f"{file}.minisig").write_text("".join(f"{line}\n" for line in lines))


class Postgres:
    """A server with an empty database in a folder of its own."""

    def __init__(self, folder):
        versions = pathlib.Path("/usr/lib/postgresql").glob("*/bin/postgres")
        self.programs = max(versions, key=lambda path: int(path.parts[-3])).parent
        self.folder, self.options = folder / "postgres", {}
        self.folder.mkdir()
        if os.getuid() == 0:
            shutil.chown(self.folder, "postgres", "postgres")
            folder.chmod(0o711)
            self.options = {"user": "postgres", "group": "postgres", "extra_groups": []}
        self.options.update(cwd=self.folder, env={"HOME": str(self.folder)})
        data = self.folder / "data"
        run(self.programs / "initdb", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync",
            "--username=bulkhead", "--pgdata", data, **self.options)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.server = subprocess.Popen(
            [self.programs / "postgres", "-D", data, "-k", self.folder, "-p", str(self.port),
             "-c", "listen_addresses=127.0.0.1"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **self.options)
        ready = [self.programs / "pg_isready", "-h", "127.0.0.1", "-p", str(self.port)]
        wait("PostgreSQL answers",
             lambda: subprocess.run(ready, stdout=subprocess.DEVNULL, **self.options).returncode == 0)

    def url(self):
        return f"postgres://bulkhead@127.0.0.1:{self.port}/postgres"

    def dump(self):
        """The database as SQL that any version takes: without settings and psql's own commands."""
        text = run(self.programs / "pg_dump", "-h", "127.0.0.1", "-p", self.port, "-U", "bulkhead", "--inserts",
                   "--no-owner", "--no-privileges", "--no-comments", "postgres", **self.options).decode()
        others = ("--", "\\", "SET ", "SELECT pg_catalog.set_config")
        lines = [line for line in text.splitlines() if line and not line.startswith(others)]
        return "".join(f"{line}\n" for line in lines)

    def stop(self):
        self.server.send_signal(signal.SIGINT)
        self.server.wait(PATIENCE)


class Host:
    """A host that runs in `folder`, where its configuration is."""

    def __init__(self, program, folder, environment):
        self.program, self.folder = program, folder
        self.log = open(folder / "log", "w+b")
        self.process = subprocess.Popen(
            [program, "serve", "--config", "bulkhead.toml", "--data-dir", "data", "--listen", "127.0.0.1:0",
             "--admin-listen", "127.0.0.1:0", "--log-format", "json"],
            cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.log)
        self.admin = wait("the host is ready", self.listener)

    def listener(self):
        """The operators' listener, once it is there."""
        log = (self.folder / "log").read_text()
        if self.process.poll() is not None:
            sys.exit(f"the host has ended:\n{log}")
        lines = [json.loads(line) for line in log.splitlines(keepends=True) if line.endswith("\n")]
        return next((line["admin"] for line in lines if "admin" in line), None)

    def command(self, *arguments, token=DEPLOY):
        return [self.program, *arguments, "--json"], {
            "cwd": self.folder, "env": {"BULKHEAD_ADMIN_URL": self.admin, "BULKHEAD_ADMIN_TOKEN": token}}

    def component(self, *arguments):
        """`bulkhead component`; the answer."""
        command, options = self.command("component", *arguments)
        return json.loads(run(*command, **options))

    def refuse(self, slot, file):
        """Pushes a component that the slot refuses."""
        command, options = self.command("component", "push", slot, file)
        done = subprocess.run(command, capture_output=True, **options)
        if done.returncode != 3:
            sys.exit(f"{file} is not refused: {done}")

    def history(self, slot):
        return self.component("history", slot)["versions"]

    def at_rest(self):
        """Whether the calls of every version have ended."""
        versions = self.history("captcha") + self.history("status")
        return all(version["moves"][-1]["stage"] != "draining" for version in versions)

    def state(self):
        """What the host says of its slots."""
        wait("no version drains", self.at_rest)
        command, options = self.command("admin", "audit", "--lines", "1000", token=ADMIN)
        audit = json.loads(run(*command, **options))
        slots = {slot: {"slot": self.component("show", slot), "history": self.history(slot)}
                 for slot in ["captcha", "status"]}
        return {"slots": slots, "audit": audit["entries"]}

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        if self.process.wait(PATIENCE):
            sys.exit((self.folder / "log").read_text())


def operate(host):
    """Makes the changes whose results the test expects."""
    # B answers, pushed over the configured file A; C has answered; D is tried.
    for letter in ["B", "C"]:
        host.component("swap", "captcha", "--file", f"captcha-{letter}.wasm", "--reason", f"{letter} is new")
    host.component("rollback", "captcha", "--reason", "C is worse")
    host.component("canary", "captcha", "25", "--file", "captcha-D.wasm", "--reason", "D is tried")
    # Signed: B answers, pushed over the configured file A; C is in shadow. D has no signature.
    host.component("swap", "status", "--file", "status-B.wasm", "--reason", "B is new")
    host.component("shadow", "status", "--file", "status-C.wasm", "--reason", "C is compared")
    host.refuse("status", "status-D.wasm")


def prepare(folder, configuration, signer):
    """Writes the configuration and the components of every letter."""
    folder.mkdir()
    (folder / "bulkhead.toml").write_text(configuration)
    for slot in ["captcha", "status"]:
        wasm = (HERE / f"{slot}.wasm").read_bytes()
        assert wasm.count(b'"letter":"A"') == 1
        for letter in "ABCD":
            file = folder / (f"{slot}.wasm" if letter == "A" else f"{slot}-{letter}.wasm")
            file.write_bytes(wasm.replace(b'"letter":"A"', f'"letter":"{letter}"'.encode()))
            if slot == "status" and letter in SIGNED:
                signer.sign(file, SIGNED[letter])


def make(name, program, folder, environment):
    """Runs a host on `folder`; keeps its data folder and what it said as NAME."""
    host = Host(program, folder, environment)
    operate(host)
    said = host.state()
    host.stop()
    shutil.copytree(folder / "data", WRITTEN / name, ignore=shutil.ignore_patterns(*LEFT_OUT))
    (WRITTEN / f"{name}.json").write_text(json.dumps(said, indent=1) + "\n")


def main():
    program = pathlib.Path(sys.argv[1]).resolve()
    shutil.rmtree(WRITTEN, ignore_errors=True)
    WRITTEN.mkdir()
    with tempfile.TemporaryDirectory(prefix="bulkhead-state-") as name:
        folder = pathlib.Path(name)
        signer = Signer(folder)
        hashed = {scope: hashlib.sha256(token.encode()).hexdigest()
                  for scope, token in {"deploy": DEPLOY, "admin": ADMIN}.items()}
        configuration = CONFIGURATION.format(key=signer.key(), **hashed)
        prepare(folder / "local", configuration, signer)
        make("local", program, folder / "local", {})
        for file in ["bulkhead.toml", "captcha.wasm", "status.wasm", "status.wasm.minisig"]:
            shutil.copy(folder / "local" / file, WRITTEN / file)
        prepare(folder / "shared", configuration, signer)
        postgres = Postgres(folder)
        try:
            environment = {"BULKHEAD_CAPTCHA__DATABASE": postgres.url(), "CAPTCHA_HMAC_KEY": HMAC_KEY}
            make("shared", program, folder / "shared", environment)
            (WRITTEN / "shared.sql").write_text(postgres.dump())
        finally:
            postgres.stop()
    size = sum(file.stat().st_size for file in WRITTEN.rglob("*") if file.is_file())
    print(f"{WRITTEN}: {size} bytes")


if __name__ == "__main__":
    main()
