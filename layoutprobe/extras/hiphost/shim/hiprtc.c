/* hipRTC: sources that a program compiles while it runs. The server compiles them, for the device or the target that
 * is named; this side keeps what goes there and what comes back. Types and numbers are those of AMD's hiprtc.h. */
#include <stdlib.h>
#include <string.h>

#include "shim.h"

typedef int hiprtcResult;
enum { SUCCESS = 0, OUT_OF_MEMORY = 1, INVALID_INPUT = 3, INVALID_PROGRAM = 4, NO_NAMES_AFTER = 8, NO_NAMES_BEFORE = 9,
       NAME_NOT_VALID = 10, INTERNAL = 11, LINKING = 100 };
enum { MAJOR = 9, MINOR = 0 };

/* Strings, each with its size before it: what a request carries. */
struct strings { char *bytes; size_t size; uint64_t count; };

typedef struct program {
  struct strings sources; /* name and text of the program, then of each header */
  struct strings expressions;
  char *result;           /* log, code, and the lowered name of each expression */
  uint64_t log_size, code_size;
} *hiprtcProgram;

static int add(struct strings *to, const char *text) {
  uint64_t size = strlen(text);
  char *grown = realloc(to->bytes, to->size + sizeof size + size);
  if (!grown) return -1;
  memcpy(grown + to->size, &size, sizeof size);
  memcpy(grown + to->size + sizeof size, text, size);
  to->bytes = grown;
  to->size += sizeof size + size;
  to->count++;
  return 0;
}

static int join(struct strings *to, const struct strings *more) {
  if (!more->size) return 0;
  char *grown = realloc(to->bytes, to->size + more->size);
  if (!grown) return -1;
  memcpy(grown + to->size, more->bytes, more->size);
  to->bytes = grown;
  to->size += more->size;
  to->count += more->count;
  return 0;
}

API hiprtcResult hiprtcVersion(int *major, int *minor) {
  if (!major || !minor) return INVALID_INPUT;
  *major = MAJOR;
  *minor = MINOR;
  return SUCCESS;
}

API const char *hiprtcGetErrorString(hiprtcResult result) {
  static const char *const words[] = {
      "HIPRTC_SUCCESS", "HIPRTC_ERROR_OUT_OF_MEMORY", "HIPRTC_ERROR_PROGRAM_CREATION_FAILURE",
      "HIPRTC_ERROR_INVALID_INPUT", "HIPRTC_ERROR_INVALID_PROGRAM", "HIPRTC_ERROR_INVALID_OPTION",
      "HIPRTC_ERROR_COMPILATION", "HIPRTC_ERROR_BUILTIN_OPERATION_FAILURE",
      "HIPRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION", "HIPRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION",
      "HIPRTC_ERROR_NAME_EXPRESSION_NOT_VALID", "HIPRTC_ERROR_INTERNAL_ERROR"};
  if (result == LINKING) return "HIPRTC_ERROR_LINKING";
  return result >= 0 && result <= INTERNAL ? words[result] : "Invalid HIPRTC error code";
}

API hiprtcResult hiprtcDestroyProgram(hiprtcProgram *program) {
  if (!program) return INVALID_INPUT;
  if (!*program) return SUCCESS;
  free((*program)->sources.bytes);
  free((*program)->expressions.bytes);
  free((*program)->result);
  free(*program);
  *program = NULL;
  return SUCCESS;
}

API hiprtcResult hiprtcCreateProgram(hiprtcProgram *program, const char *source, const char *name, int headers,
                                     const char *const *texts, const char *const *names) {
  if (!program || !source || headers < 0 || (headers && (!texts || !names))) return INVALID_INPUT;
  hiprtcProgram made = calloc(1, sizeof *made);
  if (!made) return OUT_OF_MEMORY;
  int failed = add(&made->sources, name ? name : "") || add(&made->sources, source);
  for (int i = 0; i < headers && !failed; i++) failed = add(&made->sources, names[i]) || add(&made->sources, texts[i]);
  if (failed) hiprtcDestroyProgram(&made);
  *program = made;
  return failed ? OUT_OF_MEMORY : SUCCESS;
}

API hiprtcResult hiprtcAddNameExpression(hiprtcProgram program, const char *expression) {
  if (!program) return INVALID_PROGRAM;
  if (!expression) return INVALID_INPUT;
  if (program->result) return NO_NAMES_AFTER;
  return add(&program->expressions, expression) ? OUT_OF_MEMORY : SUCCESS;
}

/* Values of the answer: the result, a ticket for the bytes and their number, the sizes of log and code. */
static hiprtcResult fetch(hiprtcProgram program, const uint64_t *values) {
  uint64_t size = values[2];
  program->result = calloc(1, size + 1);
  if (!program->result) return OUT_OF_MEMORY;
  struct answer answer = {.into = program->result, .capacity = size};
  if (ASK(OP_COMPILED, &answer, values[1]) || answer.size != size || values[3] + values[4] > size) return INTERNAL;
  program->log_size = values[3];
  program->code_size = values[4];
  return (hiprtcResult)values[0];
}

API hiprtcResult hiprtcCompileProgram(hiprtcProgram program, int count, const char *const *options) {
  if (!program) return INVALID_PROGRAM;
  if (count < 0 || (count && !options)) return INVALID_INPUT;
  struct strings all = {0};
  int failed = join(&all, &program->sources);
  for (int i = 0; i < count && !failed; i++) failed = add(&all, options[i] ? options[i] : "");
  if (failed || join(&all, &program->expressions)) {
    free(all.bytes);
    return OUT_OF_MEMORY;
  }
  free(program->result);
  program->result = NULL;
  uint64_t counts[] = {program->sources.count / 2 - 1, (uint64_t)count, program->expressions.count};
  struct answer answer = {.capacity = 0};
  hipError_t status = shim_ask(OP_COMPILE, counts, 3, all.bytes, all.size, &answer);
  free(all.bytes);
  return status || answer.count != 5 ? INTERNAL : fetch(program, answer.values);
}

API hiprtcResult hiprtcGetProgramLogSize(hiprtcProgram program, size_t *size) {
  if (!program) return INVALID_PROGRAM;
  if (!size) return INVALID_INPUT;
  *size = program->log_size; /* with the end of the string */
  return SUCCESS;
}

API hiprtcResult hiprtcGetProgramLog(hiprtcProgram program, char *log) {
  if (!program) return INVALID_PROGRAM;
  if (!log) return INVALID_INPUT;
  if (program->log_size) memcpy(log, program->result, program->log_size);
  return SUCCESS;
}

API hiprtcResult hiprtcGetCodeSize(hiprtcProgram program, size_t *size) {
  if (!program || !program->code_size) return INVALID_PROGRAM;
  if (!size) return INVALID_INPUT;
  *size = program->code_size;
  return SUCCESS;
}

API hiprtcResult hiprtcGetCode(hiprtcProgram program, char *code) {
  if (!program || !program->code_size) return INVALID_PROGRAM;
  if (!code) return INVALID_INPUT;
  memcpy(code, program->result + program->log_size, program->code_size);
  return SUCCESS;
}

API hiprtcResult hiprtcGetLoweredName(hiprtcProgram program, const char *expression, const char **lowered) {
  if (!program) return INVALID_PROGRAM;
  if (!expression || !lowered) return INVALID_INPUT;
  if (!program->code_size) return NO_NAMES_BEFORE;
  const char *name = program->result + program->log_size + program->code_size, *at = program->expressions.bytes;
  for (uint64_t i = 0, size; i < program->expressions.count; i++, at += size) {
    memcpy(&size, at, sizeof size);
    at += sizeof size;
    if (size == strlen(expression) && !memcmp(at, expression, size)) {
      *lowered = name;
      return SUCCESS;
    }
    name += strlen(name) + 1;
  }
  return NAME_NOT_VALID;
}
