/* Hearth for C, and for every language that calls C.
 *
 *   hearth_array x, y;
 *   const float data[] = {1, 2, 3};
 *   const int64_t shape[] = {3};
 *   hearth_array_from_bytes(data, sizeof data, HEARTH_F32, shape, 1, HEARTH_DEFAULT_DEVICE, &x);
 *   const hearth_value inputs[] = {hearth_of_array(x), hearth_of_float(2)};
 *   hearth_apply(hearth_function_named("mul"), inputs, 2, NULL, 0, &y, NULL, 1, NULL);
 *   float result[3];
 *   hearth_array_read(y, result, sizeof result);
 *   hearth_array_release(x);
 *   hearth_array_release(y);
 *
 * Arrays are lazy: hearth_apply() records what is to be computed, reading computes it. What an
 * array is, what each function means, and which dtypes and shapes it takes stands in docs/ops.md
 * and in `hearth ops --json`; this header says how to call.
 *
 * Errors. Every call returns HEARTH_OK or what went wrong, unless it says otherwise; then
 * hearth_error_message() says what, and results are left as they were. No call ends the process,
 * and no exception leaves one. NULL where a pointer is needed is HEARTH_ERROR_INVALID_ARGUMENT.
 *
 * Handles name objects of Hearth by slot and generation. They are no pointers: one that was
 * released already, or never given out, is HEARTH_ERROR_INVALID_HANDLE. A zero handle names
 * nothing; releasing it does nothing. Each handle that a call gives is the caller's to release.
 *
 * Threads. Any call from any thread; a handle may be used by several at once, and released by one
 * while another uses it. What a thread records is computed in that order.
 *
 * fork(). A child has neither threads nor devices of Hearth: where its parent had called anything
 * declared here, whatever returns a status is HEARTH_ERROR_UNSUPPORTED there. It may run another
 * program, and a process that forks before its first call may use Hearth on both sides.
 *
 * Versions. HEARTH_C_API_VERSION counts additions while it is 0.x, where functions and enumerators
 * are added but neither change nor go; hearth_c_api_version() is that of the library that runs. */
#ifndef HEARTH_C_API_H_
#define HEARTH_C_API_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(_WIN32)
#define HEARTH_C_API
#else
#define HEARTH_C_API __attribute__((visibility("default")))
#endif

/* ---- Versions */

#define HEARTH_C_API_VERSION 1 /* of 0.x: x */

HEARTH_C_API int32_t hearth_c_api_version(void);
/* Of the library as a whole: "0.1.0". */
HEARTH_C_API const char* hearth_version(void);

/* ---- Errors */

typedef int32_t hearth_status;
enum {
  HEARTH_OK = 0,
  HEARTH_ERROR_INVALID_ARGUMENT = 1, /* a value outside what the call accepts */
  HEARTH_ERROR_SHAPE = 2,            /* ranks or extents do not fit */
  HEARTH_ERROR_DTYPE = 3,         /* an element type the function does not take, or a mix of them */
  HEARTH_ERROR_DEVICE = 4,        /* arrays on different devices, or a fault of the device itself */
  HEARTH_ERROR_OUT_OF_MEMORY = 5, /* an allocation failed after caches were given back */
  HEARTH_ERROR_UNSUPPORTED = 6,   /* valid, but this device or build cannot do it */
  HEARTH_ERROR_CORRUPT_FILE = 7,  /* a file's contents break its format */
  HEARTH_ERROR_IO = 8,            /* the operating system refused to read or write */
  HEARTH_ERROR_INTERNAL = 9,      /* a fault of Hearth */
  HEARTH_ERROR_INVALID_HANDLE = 10 /* a handle that names nothing: released, or never given out */
};

/* Of the calling thread's last call that failed: "add: shapes do not broadcast; got ...". Never
 * NULL; valid until the thread's next call that fails. */
HEARTH_C_API const char* hearth_error_message(void);
/* "shape", "out_of_memory"; "unknown" for other numbers. */
HEARTH_C_API const char* hearth_status_name(hearth_status status);

/* ---- Dtypes */

typedef int32_t hearth_dtype;
enum {
  HEARTH_F64 = 0,
  HEARTH_F32 = 1,
  HEARTH_F16 = 2,
  HEARTH_BF16 = 3,
  HEARTH_I64 = 4,
  HEARTH_I32 = 5,
  HEARTH_I16 = 6,
  HEARTH_I8 = 7,
  HEARTH_U64 = 8,
  HEARTH_U32 = 9,
  HEARTH_U16 = 10,
  HEARTH_U8 = 11,
  HEARTH_BOOL = 12 /* a byte each, 0 or 1 */
};

/* "f32", "bool"; NULL for other numbers. */
HEARTH_C_API const char* hearth_dtype_name(hearth_dtype dtype);
/* Bytes of an element; 0 for other numbers. */
HEARTH_C_API size_t hearth_dtype_size(hearth_dtype dtype);

/* ---- Devices */

/* The index of a device among all of the process, from 0; the same for as long as it lives. */
typedef int32_t hearth_device;
#define HEARTH_DEFAULT_DEVICE (-1)

HEARTH_C_API int32_t hearth_device_count(void);
/* "cpu", "cuda", "cuda:1". HEARTH_ERROR_DEVICE where there is none; the message has those that
 * exist. */
HEARTH_C_API hearth_status hearth_device_named(const char* name, hearth_device* device);
/* "cuda:0", and "NVIDIA H200, ..."; NULL for other numbers. Valid as long as the process. */
HEARTH_C_API const char* hearth_device_name(hearth_device device);
HEARTH_C_API const char* hearth_device_description(hearth_device device);
HEARTH_C_API hearth_status hearth_device_set_default(hearth_device device);
/* What HEARTH_DEFAULT_DEVICE stands for now. */
HEARTH_C_API hearth_status hearth_device_default(hearth_device* device);
/* Whether arrays of this dtype live and are computed with there: 1 or 0. */
HEARTH_C_API hearth_status hearth_device_supports(hearth_device device, hearth_dtype dtype,
                                                  int32_t* supports);
/* Waits until everything that was submitted there has run, including what this thread has
 * recorded. Returns the first error of that, once, where no read has returned it already. */
HEARTH_C_API hearth_status hearth_device_synchronize(hearth_device device);
/* Gives cached memory back to the system. */
HEARTH_C_API hearth_status hearth_device_trim(hearth_device device);
/* How many bytes arrays may hold; what goes beyond is HEARTH_ERROR_OUT_OF_MEMORY. */
HEARTH_C_API hearth_status hearth_device_set_memory_limit(hearth_device device, int64_t bytes);

/* A number by its name. Of a device: "memory.in_use", "memory.cached", "memory.arena",
 * "memory.peak", "memory.allocations", "memory.fresh". Of the process, whatever the device:
 * "plans.recorded", "plans.submissions", "plans.hits", "plans.misses", "plans.dispatches",
 * "plans.fused", "plans.copies", "plans.donations", "plans.cuts", "plans.syncs", "plans.launches",
 * "plans.replays", "plans.waits", "plans.bytes_to_device", "plans.bytes_to_host". Counts are since
 * the process began, bytes in bytes. "handles.arrays" and "handles.reads" are those that nobody has
 * released; they take as long as a look at each. */
HEARTH_C_API hearth_status hearth_statistic(hearth_device device, const char* name, int64_t* value);
/* Their names, in any order; NULL past the last. */
HEARTH_C_API const char* hearth_statistic_name(size_t index);

/* ---- Arrays */

typedef struct hearth_array {
  uint64_t id;
} hearth_array;

#define HEARTH_MAX_RANK 8

typedef struct hearth_array_info {
  hearth_dtype dtype;
  hearth_device device;
  int32_t rank;
  uint32_t flags;                 /* a sum of the below */
  int64_t shape[HEARTH_MAX_RANK]; /* extents, outermost first; 0 beyond rank */
} hearth_array_info;
enum {
  HEARTH_IS_LEAF = 1,     /* made by hearth_array_require_grad() */
  HEARTH_IS_QUANTIZED = 2 /* dtype is that of the floats it was made of */
};

/* Copies `bytes` bytes: elements in row-major order, little-endian. HEARTH_ERROR_SHAPE where they
 * are not as many as shape and dtype say. `shape` may be NULL where rank is 0. */
HEARTH_C_API hearth_status hearth_array_from_bytes(const void* data, size_t bytes,
                                                   hearth_dtype dtype, const int64_t* shape,
                                                   size_t rank, hearth_device device,
                                                   hearth_array* array);
/* The same without a copy where the device reads the host's memory (CPU, Metal): the array is that
 * memory then, which nobody may change until release(context) was called. That happens once, when
 * neither the array nor what is computed from it needs the memory any more, in any thread; where a
 * copy is made, before the call returns. Where the call fails it is not called. `data` is a
 * multiple of the element's size, or is copied. */
HEARTH_C_API hearth_status hearth_array_from_memory(const void* data, size_t bytes,
                                                    hearth_dtype dtype, const int64_t* shape,
                                                    size_t rank, hearth_device device,
                                                    void (*release)(void* context), void* context,
                                                    hearth_array* array);
/* A second handle of the same value, which costs no memory. */
HEARTH_C_API hearth_status hearth_array_copy(hearth_array array, hearth_array* copy);
/* Memory is free once nothing that is recorded needs it. */
HEARTH_C_API hearth_status hearth_array_release(hearth_array array);
/* Computes nothing. */
HEARTH_C_API hearth_status hearth_array_describe(hearth_array array, hearth_array_info* info);

/* Computes the array and copies its elements in row-major order. HEARTH_ERROR_SHAPE unless `bytes`
 * is their size. */
HEARTH_C_API hearth_status hearth_array_read(hearth_array array, void* target, size_t bytes);

/* A read that the caller does not wait for. Everything that the thread recorded is submitted. */
typedef struct hearth_read {
  uint64_t id;
} hearth_read;

/* The array may be released at once. */
HEARTH_C_API hearth_status hearth_read_start(hearth_array array, hearth_read* read);
/* The same; `done` is called once, when the value is there or has failed, which
 * hearth_read_finish() then says without waiting: in a thread of Hearth's, or before this returns.
 * `read` is set before. It may call whatever is declared here, but not hearth_read_finish() of a
 * read that has not finished: that is HEARTH_ERROR_INVALID_ARGUMENT. */
HEARTH_C_API hearth_status hearth_read_start_notify(hearth_array array, void (*done)(void* context),
                                                    void* context, hearth_read* read);
/* 1 when hearth_read_finish() does not wait. */
HEARTH_C_API hearth_status hearth_read_poll(hearth_read read, int32_t* ready);
/* Waits, copies as hearth_array_read() does, and releases the read, whatever it returns. */
HEARTH_C_API hearth_status hearth_read_finish(hearth_read read, void* target, size_t bytes);
/* Releases the handle. The read goes on, and `done` is called. */
HEARTH_C_API hearth_status hearth_read_release(hearth_read read);

/* Computes several arrays with one wait. */
HEARTH_C_API hearth_status hearth_eval(const hearth_array* arrays, size_t count);
/* Starts everything that this thread has recorded, and waits for nothing. */
HEARTH_C_API hearth_status hearth_submit(void);

/* ---- Functions */

/* What an input or a parameter is. */
enum {
  HEARTH_NONE = 0,   /* not given: the default */
  HEARTH_ARRAY = 1,  /* as.array; {0} is not given */
  HEARTH_FLAG = 2,   /* as.integer, 0 or 1 */
  HEARTH_INT = 3,    /* as.integer */
  HEARTH_FLOAT = 4,  /* as.number */
  HEARTH_INTS = 5,   /* as.integers[count] */
  HEARTH_FLOATS = 6, /* as.numbers[count] */
  HEARTH_STRING = 7  /* as.string, ended by a zero byte */
};

typedef struct hearth_value {
  int32_t type;   /* one of the above */
  uint32_t count; /* of a list */
  union {
    hearth_array array;
    int64_t integer;
    double number;
    const int64_t* integers;
    const double* numbers;
    const char* string;
  } as;
} hearth_value;

/* A parameter by its name; of a function that takes a struct of options, the field's name. */
typedef struct hearth_parameter {
  const char* name;
  hearth_value value;
} hearth_parameter;

/* A function of `hearth ops --json`; 0 is none. The same number for as long as the process lives,
 * but not in the next. */
typedef uint32_t hearth_function;

/* 0 where there is none of that name. Takes as long as a look-up by name: keep what it returns. */
HEARTH_C_API hearth_function hearth_function_named(const char* name);
/* Functions are numbered from 1 to this. */
HEARTH_C_API uint32_t hearth_function_count(void);
/* "sum", and its inputs, parameters and number of results: "sum(x; axes, keepdim) -> 1". Results of
 * a function that gives a list are "n". NULL for numbers that are none. */
HEARTH_C_API const char* hearth_function_name(hearth_function function);
HEARTH_C_API const char* hearth_function_signature(hearth_function function);

/* Records a function. `inputs` are its arrays, in the order of its declaration without those in
 * structs of options: HEARTH_ARRAY, HEARTH_NONE for one that is optional (or left out at the end),
 * or a number where the function takes one beside arrays. A list of arrays is the inputs from its
 * place on. `parameters` are all others in any order; names that the function lacks, and values
 * of other types, are HEARTH_ERROR_INVALID_ARGUMENT. What they are in C:
 *
 *   bool              HEARTH_FLAG
 *   i64               HEARTH_INT
 *   f64               HEARTH_FLOAT or HEARTH_INT
 *   i64_list          HEARTH_INTS, or HEARTH_INT for a list of one
 *   f64_list          HEARTH_FLOATS, or HEARTH_FLOAT for a list of one
 *   Slice_list        HEARTH_INTS: start, end and step of each axis; HEARTH_TO_END is no end
 *   array             HEARTH_ARRAY (of a struct of options)
 *   dtype, device     HEARTH_INT, or HEARTH_STRING: "f32", "cuda:1"
 *   string, an enum   HEARTH_STRING, the enumerator's name
 *
 * `results` has room for `capacity` handles, and `infos`, where it is not NULL, for as many
 * descriptions of them; `count`, where it is not NULL, becomes how many there are, also where there
 * is no room for them, which is HEARTH_ERROR_INVALID_ARGUMENT.
 *
 * Indices are not checked, unless the environment has HEARTH_CHECK_INDICES=1: those that lie
 * outside read any value, and write none. */
HEARTH_C_API hearth_status hearth_apply(hearth_function function, const hearth_value* inputs,
                                        size_t input_count, const hearth_parameter* parameters,
                                        size_t parameter_count, hearth_array* results,
                                        hearth_array_info* infos, size_t capacity, size_t* count);
#define HEARTH_TO_END INT64_MAX

static inline hearth_value hearth_of_array(hearth_array array) {
  hearth_value value = {HEARTH_ARRAY, 0, {{0}}};
  value.as.array = array;
  return value;
}
static inline hearth_value hearth_of_flag(int flag) {
  hearth_value value = {HEARTH_FLAG, 0, {{0}}};
  value.as.integer = flag != 0;
  return value;
}
static inline hearth_value hearth_of_int(int64_t integer) {
  hearth_value value = {HEARTH_INT, 0, {{0}}};
  value.as.integer = integer;
  return value;
}
static inline hearth_value hearth_of_float(double number) {
  hearth_value value = {HEARTH_FLOAT, 0, {{0}}};
  value.as.number = number;
  return value;
}
static inline hearth_value hearth_of_ints(const int64_t* integers, uint32_t count) {
  hearth_value value = {HEARTH_INTS, 0, {{0}}};
  value.count = count;
  value.as.integers = integers;
  return value;
}
static inline hearth_value hearth_of_floats(const double* numbers, uint32_t count) {
  hearth_value value = {HEARTH_FLOATS, 0, {{0}}};
  value.count = count;
  value.as.numbers = numbers;
  return value;
}
static inline hearth_value hearth_of_string(const char* string) {
  hearth_value value = {HEARTH_STRING, 0, {{0}}};
  value.as.string = string;
  return value;
}
static inline hearth_value hearth_of_nothing(void) {
  hearth_value value = {HEARTH_NONE, 0, {{0}}};
  return value;
}

/* ---- Quantized arrays
 *
 * Codes and scales of an array of floats, named by a hearth_array as any other. hearth_apply()
 * takes them: functions that move elements (reshape, permute, transpose, swap_axes, expand, flip,
 * slice, select, gather, repeat, cat) move codes as they are; others compute with what is
 * dequantized, and quantize again where `propagates` says so. Reading gives bytes as they are
 * stored: codes, scales, the tensor's scale. Without gradients. */

/* What a code stands for before it is scaled: integers of 8, 4 or 2 bits, of their full range (F)
 * or symmetric around 0 (S), or floats. */
enum {
  HEARTH_Q8F = 0,
  HEARTH_Q8S = 1,
  HEARTH_Q4F = 2,
  HEARTH_Q4S = 3,
  HEARTH_Q2F = 4,
  HEARTH_Q2S = 5,
  HEARTH_E4M3 = 6,
  HEARTH_E5M2 = 7,
  HEARTH_E2M1 = 8
};
/* Where codes lie: a byte each, in words of 32 bits, or in bytes. */
enum { HEARTH_STORE_NATIVE = 0, HEARTH_STORE_PACKED_U32 = 1, HEARTH_STORE_PACKED_NATIVE = 2 };
/* What scales are stored as. */
enum {
  HEARTH_SCALE_NONE = -1,
  HEARTH_SCALE_F32 = 0,
  HEARTH_SCALE_F16 = 1,
  HEARTH_SCALE_BF16 = 2,
  HEARTH_SCALE_UE4M3 = 3,
  HEARTH_SCALE_UE8M0 = 4
};

typedef struct hearth_scheme {
  int32_t value;                  /* HEARTH_Q8F... */
  int32_t store;                  /* HEARTH_STORE_... */
  int32_t store_axis;             /* that codes are packed along, counted from the innermost */
  int32_t tensor_scale;           /* HEARTH_SCALE_...; without either scale f32 of the tensor */
  int32_t block_scale;            /* HEARTH_SCALE_... of each block */
  int32_t block_rank;             /* extents of `block` */
  int64_t block[HEARTH_MAX_RANK]; /* along the last axes; 1 along those before */
  int32_t propagates;             /* 1: floats computed from it are quantized again */
} hearth_scheme;

/* 1 where arrays can be quantized by it: those of a shape of whole blocks. */
HEARTH_C_API hearth_status hearth_scheme_supported(const hearth_scheme* scheme, int32_t* supported);
/* By `scales`, f32 of a scale for each block, and `global`, f32 [1], of two levels. Where `scales`
 * is zero: by those that follow from the range of x. */
HEARTH_C_API hearth_status hearth_quantize(hearth_array x, const hearth_scheme* scheme,
                                           hearth_array scales, hearth_array global,
                                           hearth_array* quantized);
/* By the scheme of `like`: with scales of the result or, where `keeps_scales`, with those of
 * `like`, for elements that are its own. */
HEARTH_C_API hearth_status hearth_quantize_like(hearth_array x, hearth_array like,
                                                int32_t keeps_scales, hearth_array* quantized);
HEARTH_C_API hearth_status hearth_dequantize(hearth_array quantized, hearth_dtype dtype,
                                             hearth_array* x);
/* Of bytes as they are stored; `dtype` is that of the floats. */
HEARTH_C_API hearth_status hearth_array_from_quantized_bytes(
    const void* data, size_t bytes, const hearth_scheme* scheme, hearth_dtype dtype,
    const int64_t* shape, size_t rank, hearth_device device, hearth_array* quantized);
/* Its scheme, and how many bytes are stored. */
HEARTH_C_API hearth_status hearth_quantized_describe(hearth_array quantized, hearth_scheme* scheme,
                                                     size_t* bytes);
/* The same on another device. */
HEARTH_C_API hearth_status hearth_quantized_to_device(hearth_array quantized, hearth_device device,
                                                      hearth_array* moved);

/* ---- DLPack
 *
 * Tensors of other libraries, without a copy where they share the memory: of the CPU always, of
 * CUDA from Hearth. The structs are those of dlpack.h, version 1; the unversioned ones are those
 * before it. Nobody may write to memory that is shared. */

struct DLManagedTensorVersioned;
struct DLManagedTensor;

/* Computes the array, in row-major order. The tensor is the caller's, who calls its deleter; it
 * outlives the array. Memory that the host does not see and that is not CUDA's is copied. */
HEARTH_C_API hearth_status hearth_array_to_dlpack(hearth_array array,
                                                  struct DLManagedTensorVersioned** tensor);
HEARTH_C_API hearth_status hearth_array_to_dlpack_unversioned(hearth_array array,
                                                              struct DLManagedTensor** tensor);
/* Takes the tensor over and calls its deleter when it is needed no more; where the call fails, it
 * is the caller's still. What writes it has finished. Of the CPU it becomes an array of `device`;
 * of CUDA it is copied, to an array of its own card with HEARTH_DEFAULT_DEVICE, and
 * HEARTH_ERROR_UNSUPPORTED if it is not contiguous. */
HEARTH_C_API hearth_status hearth_array_from_dlpack(struct DLManagedTensorVersioned* tensor,
                                                    hearth_device device, hearth_array* array);
HEARTH_C_API hearth_status hearth_array_from_dlpack_unversioned(struct DLManagedTensor* tensor,
                                                                hearth_device device,
                                                                hearth_array* array);

/* ---- Random numbers */

/* Sets the process seed: the calling thread's generator begins anew, those of others are split from
 * it. */
HEARTH_C_API hearth_status hearth_seed(uint64_t seed);

/* ---- Gradients */

/* The array as a leaf whose gradient is wanted. */
HEARTH_C_API hearth_status hearth_array_require_grad(hearth_array array, hearth_array* leaf);
/* The same value, cut off from differentiation. */
HEARTH_C_API hearth_status hearth_array_detach(hearth_array array, hearth_array* detached);
/* From the first to the second, what this thread records is not tracked. They nest. */
HEARTH_C_API hearth_status hearth_no_grad_begin(void);
HEARTH_C_API hearth_status hearth_no_grad_end(void);

typedef struct hearth_gradients {
  uint64_t id;
} hearth_gradients;

enum {
  HEARTH_RETAIN = 1,      /* what the rules read is kept: backward may come again */
  HEARTH_CREATE_GRAPH = 2 /* gradients can be differentiated; implies HEARTH_RETAIN */
};

/* Of `loss`, which has one element, with respect to all leaves that it depends on. `flags` is 0 or
 * a sum of the above. */
HEARTH_C_API hearth_status hearth_backward(hearth_array loss, uint32_t flags,
                                           hearth_gradients* gradients);
/* A zero handle where the loss does not depend on the leaf. */
HEARTH_C_API hearth_status hearth_gradients_get(hearth_gradients gradients, hearth_array leaf,
                                                hearth_array* gradient);
HEARTH_C_API hearth_status hearth_gradients_release(hearth_gradients gradients);

/* The gradients of a function's inputs where that of its result number `result` is `gradient`: one
 * rule by itself, without a loss. Inputs, parameters as of hearth_apply(). results[i] is that of
 * inputs[i], or a zero handle where it is no array or has no gradient; `capacity` is input_count at
 * least. Of the function itself only that is computed which the rule reads. */
HEARTH_C_API hearth_status hearth_apply_vjp(hearth_function function, const hearth_value* inputs,
                                            size_t input_count, const hearth_parameter* parameters,
                                            size_t parameter_count, size_t result,
                                            hearth_array gradient, hearth_array* results,
                                            size_t capacity);

/* ---- Files */

/* Arrays by name, and texts by name, as a safetensors file has them. */
typedef struct hearth_archive {
  uint64_t id;
} hearth_archive;

HEARTH_C_API hearth_status hearth_archive_new(hearth_archive* archive);
/* Without copies where the device reads the host's memory: the file must not be changed in place
 * while one of the arrays lives. */
HEARTH_C_API hearth_status hearth_archive_load(const char* path, hearth_device device,
                                               hearth_archive* archive);
/* Afterwards `path` holds its old contents or all of the new ones. */
HEARTH_C_API hearth_status hearth_archive_save(hearth_archive archive, const char* path);
HEARTH_C_API hearth_status hearth_archive_count(hearth_archive archive, size_t* count);
/* The name is valid until the archive is changed or released. */
HEARTH_C_API hearth_status hearth_archive_name(hearth_archive archive, size_t index,
                                               const char** name);
/* HEARTH_ERROR_INVALID_ARGUMENT where there is none of that name. */
HEARTH_C_API hearth_status hearth_archive_get(hearth_archive archive, const char* name,
                                              hearth_array* array);
/* HEARTH_ERROR_INVALID_ARGUMENT where there is one already. */
HEARTH_C_API hearth_status hearth_archive_add(hearth_archive archive, const char* name,
                                              hearth_array array);
/* NULL where there is none of that name; valid until the archive is changed or released. */
HEARTH_C_API hearth_status hearth_archive_text(hearth_archive archive, const char* name,
                                               const char** text);
HEARTH_C_API hearth_status hearth_archive_set_text(hearth_archive archive, const char* name,
                                                   const char* text);
HEARTH_C_API hearth_status hearth_archive_release(hearth_archive archive);

#ifdef __cplusplus
}
#endif

#endif /* HEARTH_C_API_H_ */
