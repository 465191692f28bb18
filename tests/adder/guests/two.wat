;; Adds two, and reads the total, which the other version does not.
(module
  (import "bulkhead:adder/counter@0.1.0" "count" (func $count (result i64)))
  (import "bulkhead:adder/counter@0.1.0" "total" (func $total (result i64)))
  (memory (export "memory") 1)
  (func (export "add") (param $number i32) (result i32)
    (drop (call $count))
    (drop (call $total))
    (i32.add (local.get $number) (i32.const 2)))
  ;; Address 0 holds zeros, which mean `ok`.
  (func (export "self-test") (result i32)
    (i32.const 0)))
