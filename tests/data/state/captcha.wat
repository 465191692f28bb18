;; A captcha component that answers every challenge with its letter: the byte that make.py changes.
(component
  (component $challenges
    (core module $code
      (memory (export "memory") 1)
      (global $heap (mut i32) (i32.const 4096))
      (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
        (local $at i32)
        (local.set $at (i32.and (i32.add (global.get $heap) (i32.const 15)) (i32.const -16)))
        (global.set $heap (i32.add (local.get $at) (local.get 3)))
        (local.get $at))
      ;; `ok`: the text's address and length; cost and visits are 0.
      (func (export "issue") (param i32) (result i32)
        (i32.store (i32.const 8) (i32.const 1024))
        (i32.store (i32.const 12) (i32.const 14))
        i32.const 0)
      ;; `ok`: valid, and nothing was left.
      (func (export "judge") (param i32) (result i32) i32.const 512)
      (data (i32.const 1024) "{\"letter\":\"A\"}"))
    (core instance $code (instantiate $code))
    (alias core export $code "memory" (core memory $memory))
    (alias core export $code "cabi_realloc" (core func $realloc))

    (type $t0 (enum "v1" "v2"))
    (export $protocol "protocol" (type $t0))
    (type $t1 (record (field "min-visits" u32) (field "cost" u32)))
    (export $ladder-step "ladder-step" (type $t1))
    (type $t2 (record (field "target-solve-ms" u32) (field "min-cost" u32) (field "max-cost" u32)))
    (export $auto-policy "auto-policy" (type $t2))
    (type $t3 (variant
      (case "ladder" (list $ladder-step))
      (case "auto" (tuple (list $ladder-step) $auto-policy))))
    (export $difficulty "difficulty" (type $t3))
    (type $t4 (enum "none" "network" "exact"))
    (export $binding "binding" (type $t4))
    (type $t5 (record
      (field "key" string) (field "compat" bool) (field "protocol" $protocol) (field "accept-v1" bool)
      (field "algorithm" string) (field "memory-cost" (option u32)) (field "parallelism" (option u32))
      (field "deterministic" bool) (field "counter-max" u32) (field "difficulty" $difficulty)
      (field "binding" $binding) (field "timeout-seconds" u32) (field "max-verifies" u32)
      (field "max-failures" u32) (field "signing-key" string) (field "key-signing-key" string)))
    (export $site "site" (type $t5))
    (type $t6 (record (field "network" (list string)) (field "exact" (list string)) (field "allow-listed" bool)))
    (export $client "client" (type $t6))
    (type $t7 (record (field "challenge" string) (field "cost" u32) (field "visits" u64)))
    (export $issued "issued" (type $t7))
    (type $t8 (enum "expired" "replayed" "bad-signature" "wrong-solution" "wrong-site" "wrong-client"
      "wrong-action" "too-many-failures"))
    (export $reason "reason" (type $t8))
    (type $t9 (record
      (field "rejected" (option $reason)) (field "cost" (option u32))
      (field "reported-time-ms" (option f64)) (field "expires-at" (option u64)) (field "action" (option string))))
    (export $verdict "verdict" (type $t9))
    (type $t10 (variant (case "malformed" string) (case "busy" u32) (case "internal" string)))
    (export $error "error" (type $t10))

    (func $issue
      (param "site" $site) (param "client" $client) (param "action" (option string))
      (result (result $issued (error $error)))
      (canon lift (core func $code "issue") (memory $memory) (realloc $realloc)))
    (export "issue" (func $issue))
    (func $verify
      (param "site" $site) (param "client" $client) (param "payload" string) (param "action" (option string))
      (result (result $verdict (error $error)))
      (canon lift (core func $code "judge") (memory $memory) (realloc $realloc)))
    (export "verify" (func $verify))
    (func $invalidate
      (param "site" $site) (param "payload" string)
      (result (result bool (error $error)))
      (canon lift (core func $code "judge") (memory $memory) (realloc $realloc)))
    (export "invalidate" (func $invalidate)))
  (instance $challenges (instantiate $challenges))
  (export "bulkhead:captcha/challenges@0.1.0" (instance $challenges))

  (core module $test
    (memory (export "memory") 1)
    (func (export "self-test") (result i32) i32.const 0))
  (core instance $test (instantiate $test))
  (alias core export $test "memory" (core memory $memory))
  (func $self-test (result (result (error string)))
    (canon lift (core func $test "self-test") (memory $memory)))
  (export "self-test" (func $self-test)))
