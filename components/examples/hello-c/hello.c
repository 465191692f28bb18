/* Answers every request with a line of text. It needs no library: what it imports and exports is declared in
 * bindings.h. */

#include "bindings.h"

static const char TYPE_NAME[] = "content-type";
static const char TYPE[] = "text/plain";
static const char TEXT[] = "Hello from C\n";

#define LENGTH(text) (sizeof(text) - 1)

/* Ends the call if a function of the host has failed. */
static void check(const result_t *result) {
  if (result->kind != OK) {
    __builtin_trap();
  }
}

void handle(handle_t request, handle_t out) {
  result_t result;
  drop_incoming_request(request);

  handle_t fields = new_fields();
  fields_append(fields, TYPE_NAME, LENGTH(TYPE_NAME), TYPE, LENGTH(TYPE), &result);
  check(&result);
  handle_t response = new_outgoing_response(fields);
  outgoing_response_body(response, &result);
  check(&result);
  handle_t body = result.handle;
  response_outparam_set(out, OK, response, 0, 0, 0, 0, 0, 0);

  outgoing_body_write(body, &result);
  check(&result);
  handle_t stream = result.handle;
  output_stream_blocking_write_and_flush(stream, TEXT, LENGTH(TEXT), &result);
  check(&result);
  drop_output_stream(stream);
  outgoing_body_finish(body, NONE, 0, &result);
  check(&result);
}
