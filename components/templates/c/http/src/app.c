// An HTTP component: greets.
#include "bindings.h"

// Memory for what the host hands over. The component answers one request, so nothing is given back.
static char heap[65536];
static uint32_t used;

EXPORT("cabi_realloc")
void *cabi_realloc(void *old, uint32_t old_size, uint32_t align, uint32_t new_size) {
  uint32_t start = (used + align - 1) & ~(align - 1);
  if (new_size > sizeof heap - start) __builtin_trap();
  used = start + new_size;
  for (uint32_t at = 0; at < old_size && at < new_size; at++) heap[start + at] = ((char *)old)[at];
  return heap + start;
}

static int begins_with(const char *text, int32_t length, const char *start) {
  for (; *start; text++, start++, length--) {
    if (length == 0 || *text != *start) return 0;
  }
  return 1;
}

static int32_t length_of(const char *text) {
  int32_t length = 0;
  while (text[length]) length++;
  return length;
}

static void respond(int32_t out, int32_t status, const char *text) {
  result_t result;
  int32_t headers = fields_new();
  const char *name = "content-type", *value = "text/plain; charset=utf-8";
  fields_append(headers, name, length_of(name), value, length_of(value), &result);
  int32_t response = outgoing_response_new(headers);
  outgoing_response_set_status_code(response, status);
  outgoing_response_body(response, &result);
  int32_t body = result.value;
  response_outparam_set(out, 0, response, 0, 0, 0, 0, 0, 0);
  outgoing_body_write(body, &result);
  int32_t stream = result.value;
  output_stream_blocking_write_and_flush(stream, text, length_of(text), &result);
  output_stream_drop(stream);
  outgoing_body_finish(body, 0, 0, &result);
}

EXPORT("wasi:http/incoming-handler@0.2.12#handle")
void handle(int32_t request, int32_t out) {
  result_t method, path;
  incoming_request_method(request, &method);
  incoming_request_path_with_query(request, &path);
  incoming_request_drop(request);
  const char *text = path.tag ? (const char *)path.value : "/";
  int32_t length = path.tag ? path.length : 1;
  if (method.tag == METHOD_GET && begins_with(text, length, "/hello")) {
    respond(out, 200, "hello from C\n");
  } else {
    respond(out, 404, "there is nothing here\n");
  }
}
