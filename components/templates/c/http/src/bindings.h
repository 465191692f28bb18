// The functions of wasi:http and wasi:io that the component uses, as the canonical ABI passes their values. A function
// whose result does not fit into one number writes it to `result`, which has room for 64 bytes.
#ifndef BINDINGS_H
#define BINDINGS_H

#include <stdint.h>

#define IMPORT(module, name) __attribute__((import_module(module), import_name(name)))
#define EXPORT(name) __attribute__((export_name(name)))
#define TYPES "wasi:http/types@0.2.12"
#define STREAMS "wasi:io/streams@0.2.12"

// The start of a result, of an option or of a variant, and what follows it.
typedef struct {
  uint8_t tag;
  int32_t value;
  int32_t length;
  int32_t rest[13];
} result_t;

IMPORT(TYPES, "[method]incoming-request.method")
void incoming_request_method(int32_t request, result_t *result);
IMPORT(TYPES, "[method]incoming-request.path-with-query")
void incoming_request_path_with_query(int32_t request, result_t *result);
IMPORT(TYPES, "[resource-drop]incoming-request")
void incoming_request_drop(int32_t request);

IMPORT(TYPES, "[constructor]fields")
int32_t fields_new(void);
IMPORT(TYPES, "[method]fields.append")
void fields_append(int32_t fields, const char *name, int32_t name_length, const char *value, int32_t value_length,
                   result_t *result);

IMPORT(TYPES, "[constructor]outgoing-response")
int32_t outgoing_response_new(int32_t headers);
IMPORT(TYPES, "[method]outgoing-response.set-status-code")
int32_t outgoing_response_set_status_code(int32_t response, int32_t status);
IMPORT(TYPES, "[method]outgoing-response.body")
void outgoing_response_body(int32_t response, result_t *result);

// Takes a response where `is_error` is 0; then the numbers after it have no meaning.
IMPORT(TYPES, "[static]response-outparam.set")
void response_outparam_set(int32_t out, int32_t is_error, int32_t response, int32_t a, int64_t b, int32_t c, int32_t d,
                           int32_t e, int32_t f);

IMPORT(TYPES, "[method]outgoing-body.write")
void outgoing_body_write(int32_t body, result_t *result);
// Takes trailers where `has_trailers` is 1.
IMPORT(TYPES, "[static]outgoing-body.finish")
void outgoing_body_finish(int32_t body, int32_t has_trailers, int32_t trailers, result_t *result);

IMPORT(STREAMS, "[method]output-stream.blocking-write-and-flush")
void output_stream_blocking_write_and_flush(int32_t stream, const char *bytes, int32_t length, result_t *result);
IMPORT(STREAMS, "[resource-drop]output-stream")
void output_stream_drop(int32_t stream);

// Cases of wasi:http/types.method.
enum { METHOD_GET, METHOD_HEAD, METHOD_POST };

#endif
