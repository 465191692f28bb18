/* What hello.c uses of the world `hello`, in the component model's canonical ABI: handles are numbers, a text is its
 * address and its length, and a result with more than one value is written where the last argument points. */

#include <stddef.h>
#include <stdint.h>

typedef int32_t handle_t;

/* The cases of `result` and `option`. */
enum { OK = 0, ERROR = 1 };
enum { NONE = 0, SOME = 1 };

/* The result of a function: its case, the handle that it may hold, and room for the largest error. */
typedef struct {
  uint8_t kind;
  handle_t handle;
  uint64_t room[6];
} result_t;

#define IMPORT(interface, function) __attribute__((import_module(interface), import_name(function)))
#define TYPES "wasi:http/types@0.2.12"
#define STREAMS "wasi:io/streams@0.2.12"

IMPORT(TYPES, "[resource-drop]incoming-request") void drop_incoming_request(handle_t request);
IMPORT(TYPES, "[constructor]fields") handle_t new_fields(void);
IMPORT(TYPES, "[method]fields.append")
void fields_append(handle_t fields, const char *name, size_t name_length, const char *value, size_t value_length,
                   result_t *result);
IMPORT(TYPES, "[constructor]outgoing-response") handle_t new_outgoing_response(handle_t fields);
IMPORT(TYPES, "[method]outgoing-response.body") void outgoing_response_body(handle_t response, result_t *result);
/* After `kind`: the response, or the case of an `error-code` and the six values that its cases share. */
IMPORT(TYPES, "[static]response-outparam.set")
void response_outparam_set(handle_t out, int32_t kind, handle_t response, int32_t, int64_t, int32_t, int32_t, int32_t,
                           int32_t);
IMPORT(TYPES, "[method]outgoing-body.write") void outgoing_body_write(handle_t body, result_t *result);
IMPORT(TYPES, "[static]outgoing-body.finish")
void outgoing_body_finish(handle_t body, int32_t has_trailers, handle_t trailers, result_t *result);
IMPORT(STREAMS, "[resource-drop]output-stream") void drop_output_stream(handle_t stream);
IMPORT(STREAMS, "[method]output-stream.blocking-write-and-flush")
void output_stream_blocking_write_and_flush(handle_t stream, const char *bytes, size_t length, result_t *result);

/* Called for each request. */
__attribute__((export_name("wasi:http/incoming-handler@0.2.12#handle"))) void handle(handle_t request, handle_t out);
