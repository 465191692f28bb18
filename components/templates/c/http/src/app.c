// An HTTP component: greets.
#include <stdlib.h>
#include <string.h>

#include "http.h"

static bool begins_with(http_string_t text, const char *start) {
  for (size_t at = 0; start[at]; at++) {
    if (at == text.len || (char)text.ptr[at] != start[at]) return false;
  }
  return true;
}

static void respond(wasi_http_types_own_response_outparam_t out, uint16_t status, const char *text) {
  wasi_http_types_own_fields_t fields = wasi_http_types_constructor_fields();
  http_string_t name;
  http_string_set(&name, "content-type");
  const char *type = "text/plain; charset=utf-8";
  wasi_http_types_field_value_t value = {(uint8_t *)type, strlen(type)};
  wasi_http_types_header_error_t refused;
  if (!wasi_http_types_method_fields_append(wasi_http_types_borrow_fields(fields), &name, &value, &refused)) abort();

  wasi_http_types_result_own_outgoing_response_error_code_t result = {.is_err = false};
  result.val.ok = wasi_http_types_constructor_outgoing_response(fields);
  wasi_http_types_borrow_outgoing_response_t response = wasi_http_types_borrow_outgoing_response(result.val.ok);
  if (!wasi_http_types_method_outgoing_response_set_status_code(response, status)) abort();
  wasi_http_types_own_outgoing_body_t body;
  if (!wasi_http_types_method_outgoing_response_body(response, &body)) abort();
  wasi_http_types_static_response_outparam_set(out, &result);

  wasi_http_types_own_output_stream_t stream;
  if (!wasi_http_types_method_outgoing_body_write(wasi_http_types_borrow_outgoing_body(body), &stream)) abort();
  http_list_u8_t contents = {(uint8_t *)text, strlen(text)};
  wasi_io_streams_stream_error_t failed;
  // The client may have gone; then nobody misses the text.
  wasi_io_streams_method_output_stream_blocking_write_and_flush(wasi_io_streams_borrow_output_stream(stream), &contents,
                                                                &failed);
  wasi_io_streams_output_stream_drop_own(stream);
  wasi_http_types_error_code_t code;
  wasi_http_types_static_outgoing_body_finish(body, NULL, &code);
}

void exports_wasi_http_incoming_handler_handle(wasi_http_types_own_incoming_request_t request,
                                               wasi_http_types_own_response_outparam_t out) {
  wasi_http_types_borrow_incoming_request_t borrowed = wasi_http_types_borrow_incoming_request(request);
  wasi_http_types_method_t method;
  wasi_http_types_method_incoming_request_method(borrowed, &method);
  http_string_t path;
  bool has_path = wasi_http_types_method_incoming_request_path_with_query(borrowed, &path);
  wasi_http_types_incoming_request_drop_own(request);
  if (method.tag == WASI_HTTP_TYPES_METHOD_GET && has_path && begins_with(path, "/hello")) {
    respond(out, 200, "hello from C\n");
  } else {
    respond(out, 404, "there is nothing here\n");
  }
}
