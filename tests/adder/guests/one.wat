;; Adds one.
(module
  (import "bulkhead:adder/counter@0.1.0" "count" (func $count (result i64)))
  (memory (export "memory") 1)
  (func (export "add") (param $number i32) (result i32)
    (drop (call $count))
    (i32.add (local.get $number) (i32.const 1)))
  ;; Address 0 holds zeros, which mean `ok`.
  (func (export "self-test") (result i32)
    (i32.const 0)))
