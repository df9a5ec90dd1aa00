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
 * Arrays are lazy: hearth_apply() records what is to be computed, and reading computes it. This
 * header says how to call; docs/ops.md and `hearth ops --json` say what each function means and
 * which dtypes and shapes it takes.
 *
 * Errors. A call returns HEARTH_OK or the kind of error, unless its comment says otherwise. After
 * an error hearth_error_message() has the text, and the call's results are left as they were. No
 * call ends the process, and no C++ exception leaves one. NULL for a pointer that is needed is
 * HEARTH_ERROR_INVALID_ARGUMENT.
 *
 * Handles name objects of Hearth. They are numbers, not pointers: a handle that was released, or
 * never given out, is found out and is HEARTH_ERROR_INVALID_HANDLE. The caller releases each handle
 * that a call gives.
 *
 * A zero handle names no object. It stands for an input that is not given, where an input may be
 * left out: optional inputs and parameters of hearth_apply(), `scales` and `global` of
 * hearth_quantize(). Releasing it does nothing. Anywhere else it is an error that names the
 * function and the argument.
 *
 * Threads. Every call may come from any thread, also from destructors when it ends, from atexit()
 * and from functions that Hearth calls. Several threads may use a handle at once, and one may
 * release it while others use it. What a thread records is computed in the order in which it was
 * recorded. On the CPU threads need a stack of 64 KiB at least, where Hearth is compiled with
 * optimisation. Drivers and compilers of GPUs need more, and give errors once exit() has ended
 * them.
 *
 * Callbacks (`done` of a read, `release` of memory, `deleter` of a tensor) return normally: they
 * throw no exception, do not longjmp() out and do not end their thread. An exception of C++ that
 * one throws all the same is dropped: the callback has run, and the call that it ran in returns
 * what it would have.
 *
 * fork(). A child has none of its parent's threads and devices. Where the parent had made a call
 * that returns a status, every such call is HEARTH_ERROR_UNSUPPORTED in the child, which may run
 * another program. A process that forks before its first call may use Hearth on both sides.
 *
 * Versions. While the version is 0.x, functions and enumerators are added, and none is changed or
 * removed; HEARTH_C_API_VERSION is x. hearth_c_api_version() is that of the library that runs. */
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

/* What the calling thread's last error was: "add: shapes do not broadcast; got ...". Never NULL;
 * at most 2047 bytes; valid until the thread's next error. */
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
  HEARTH_BOOL = 12, /* a byte each: 0 or 1; a caller's other bytes are taken for 1 */
  /* Packed: ggml's blocks along the last axis, as files of language models hold weights. Such an
   * array can be made, read, moved in whole blocks, selected from and copied between devices, and
   * be the weight of linear and embedding. */
  HEARTH_Q1_0 = 13,
  HEARTH_Q2_0 = 14,
  HEARTH_Q4_0 = 15,
  HEARTH_Q4_1 = 16,
  HEARTH_Q5_0 = 17,
  HEARTH_Q5_1 = 18,
  HEARTH_Q8_0 = 19,
  HEARTH_Q8_1 = 20,
  HEARTH_Q2_K = 21,
  HEARTH_Q3_K = 22,
  HEARTH_Q4_K = 23,
  HEARTH_Q5_K = 24,
  HEARTH_Q6_K = 25,
  HEARTH_Q8_K = 26,
  HEARTH_IQ4_NL = 27,
  HEARTH_IQ4_XS = 28,
  HEARTH_IQ1_S = 29,
  HEARTH_IQ1_M = 30,
  HEARTH_IQ2_XXS = 31,
  HEARTH_IQ2_XS = 32,
  HEARTH_IQ2_S = 33,
  HEARTH_IQ3_XXS = 34,
  HEARTH_IQ3_S = 35,
  HEARTH_MXFP4 = 36,
  HEARTH_NVFP4 = 37,
  HEARTH_TQ1_0 = 38,
  HEARTH_TQ2_0 = 39,
  /* MLX's codes of 6 and 8 bits, which ggml has not. */
  HEARTH_AFFINE6 = 40,
  HEARTH_AFFINE8 = 41
};

/* "f32", "bool"; NULL for a number that is no dtype. */
HEARTH_C_API const char* hearth_dtype_name(hearth_dtype dtype);
/* Bytes of an element, of a packed dtype those of a block; 0 for a number that is no dtype. */
HEARTH_C_API size_t hearth_dtype_size(hearth_dtype dtype);
/* Elements of a block, of which the last extent is a multiple: 1 unless the dtype is packed; 0 for
 * a number that is no dtype. */
HEARTH_C_API size_t hearth_dtype_block(hearth_dtype dtype);

/* ---- Devices */

/* The index of a device, from 0. It stays the same for as long as the process lives. */
typedef int32_t hearth_device;
#define HEARTH_DEFAULT_DEVICE (-1)

HEARTH_C_API int32_t hearth_device_count(void);
/* By a name such as "cpu", "cuda" or "cuda:1". HEARTH_ERROR_DEVICE for a name that no device has;
 * the message lists those that exist. */
HEARTH_C_API hearth_status hearth_device_named(const char* name, hearth_device* device);
/* "cuda:0", and "NVIDIA H200, ..."; NULL for a number that is no device. Valid as long as the
 * process lives. */
HEARTH_C_API const char* hearth_device_name(hearth_device device);
HEARTH_C_API const char* hearth_device_description(hearth_device device);
HEARTH_C_API hearth_status hearth_device_set_default(hearth_device device);
/* The device that HEARTH_DEFAULT_DEVICE stands for now. */
HEARTH_C_API hearth_status hearth_device_default(hearth_device* device);
/* 1 where the device stores arrays of this dtype and computes with them, else 0. */
HEARTH_C_API hearth_status hearth_device_supports(hearth_device device, hearth_dtype dtype,
                                                  int32_t* supports);
/* Submits what this thread has recorded, and waits until all that was submitted to the device has
 * run. Returns the first error of this thread's work there that no call has returned yet. */
HEARTH_C_API hearth_status hearth_device_synchronize(hearth_device device);
/* Gives cached memory back to the system. */
HEARTH_C_API hearth_status hearth_device_trim(hearth_device device);
/* How many bytes all arrays of the device may hold together. An allocation beyond that is
 * HEARTH_ERROR_OUT_OF_MEMORY. */
HEARTH_C_API hearth_status hearth_device_set_memory_limit(hearth_device device, int64_t bytes);

/* A number by its name:
 *
 *   of the device   memory.in_use, memory.cached, memory.arena, memory.peak (bytes),
 *                   memory.allocations, memory.fresh
 *   of the process  plans.recorded, plans.submissions, plans.hits, plans.misses, plans.dispatches,
 *                   plans.fused, plans.copies, plans.donations, plans.cuts, plans.syncs,
 *                   plans.launches, plans.replays, plans.batches, plans.barriers, plans.waits,
 *                   plans.bytes_to_device, plans.bytes_to_host (bytes)
 *                   handles.arrays, handles.reads, handles.gradients, handles.archives
 *
 * Those of plans, and allocations, are counted from the beginning of the process. Those of handles
 * are the handles that nobody has released; finding them takes a look at every one. */
HEARTH_C_API hearth_status hearth_statistic(hearth_device device, const char* name, int64_t* value);
/* The names above, by an index from 0, in any order; NULL past the last. */
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
  uint32_t flags;                 /* a sum of HEARTH_IS_... */
  int64_t shape[HEARTH_MAX_RANK]; /* extents, outermost first; 0 beyond rank */
} hearth_array_info;
enum {
  HEARTH_IS_LEAF = 1,     /* made by hearth_array_require_grad() */
  HEARTH_IS_QUANTIZED = 2 /* `dtype` is that of the floats that were quantized */
};

/* Copies `bytes` bytes: elements in row-major order, little-endian. HEARTH_ERROR_SHAPE unless
 * `bytes` is the size that shape and dtype make. `shape` may be NULL where rank is 0. */
HEARTH_C_API hearth_status hearth_array_from_bytes(const void* data, size_t bytes,
                                                   hearth_dtype dtype, const int64_t* shape,
                                                   size_t rank, hearth_device device,
                                                   hearth_array* array);
/* The same without a copy, where the device reads the host's memory (CPU, Metal) and `data` is
 * aligned to the element's size. The array then is that memory, and nobody may change it until
 * release(context) is called. That happens once, in any thread, when neither the array nor what is
 * computed from it needs the memory. Where a copy is made, it happens before this call returns;
 * where this call fails, it does not happen. Of HEARTH_BOOL every byte is read first, and a copy
 * made where one is neither 0 nor 1. */
HEARTH_C_API hearth_status hearth_array_from_memory(const void* data, size_t bytes,
                                                    hearth_dtype dtype, const int64_t* shape,
                                                    size_t rank, hearth_device device,
                                                    void (*release)(void* context), void* context,
                                                    hearth_array* array);
/* A second handle of the same array; its elements are not copied. */
HEARTH_C_API hearth_status hearth_array_copy(hearth_array array, hearth_array* copy);
/* The array's memory is free once nothing that was recorded needs it. */
HEARTH_C_API hearth_status hearth_array_release(hearth_array array);
/* Its dtype, device and shape, without computing it. */
HEARTH_C_API hearth_status hearth_array_describe(hearth_array array, hearth_array_info* info);

/* Computes the array and copies its elements in row-major order. HEARTH_ERROR_SHAPE unless `bytes`
 * is their size. */
HEARTH_C_API hearth_status hearth_array_read(hearth_array array, void* target, size_t bytes);

/* A read that goes on while the caller does something else. Starting it submits everything that
 * the thread has recorded. */
typedef struct hearth_read {
  uint64_t id;
} hearth_read;

/* The array may be released as soon as this returns. */
HEARTH_C_API hearth_status hearth_read_start(hearth_array array, hearth_read* read);
/* The same, and calls done(context) once, when the read has succeeded or failed:
 * hearth_read_finish() then does not wait. `done` runs in a thread of Hearth's, or in this thread
 * before the call returns; `read` is set before it runs. It may call anything declared here, with
 * one exception: hearth_read_finish() of a read that has not finished is
 * HEARTH_ERROR_INVALID_ARGUMENT there. A read that `done` starts may finish at once: its own `done`
 * then runs in the same thread when the running one has returned, in the order of their beginnings,
 * and before the outermost call returns. So `done` may start the next read without end, and must
 * not wait for another's `done`. */
HEARTH_C_API hearth_status hearth_read_start_notify(hearth_array array, void (*done)(void* context),
                                                    void* context, hearth_read* read);
/* 1 when hearth_read_finish() would not wait, else 0. */
HEARTH_C_API hearth_status hearth_read_poll(hearth_read read, int32_t* ready);
/* Waits, and copies as hearth_array_read() does. Releases the read, also where it fails. */
HEARTH_C_API hearth_status hearth_read_finish(hearth_read read, void* target, size_t bytes);
/* Releases the handle without waiting. The read goes on, and `done` is called all the same. */
HEARTH_C_API hearth_status hearth_read_release(hearth_read read);

/* Computes several arrays with one wait. */
HEARTH_C_API hearth_status hearth_eval(const hearth_array* arrays, size_t count);
/* Starts everything that this thread has recorded, without waiting for it. */
HEARTH_C_API hearth_status hearth_submit(void);

/* ---- Functions */

/* What an input or a parameter is. */
enum {
  HEARTH_NONE = 0,   /* not given, as if it were left out */
  HEARTH_ARRAY = 1,  /* as.array; a zero handle is not given */
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

/* A parameter by its name. Where the C++ function takes a struct of options, each of its fields is
 * a parameter. */
typedef struct hearth_parameter {
  const char* name;
  hearth_value value;
} hearth_parameter;

/* A function of `hearth ops --json`; 0 is none. The number stays the same for as long as the
 * process lives, and may be another one in the next process. */
typedef uint32_t hearth_function;

/* 0 where no function has that name. Searches by name: keep what it returns. */
HEARTH_C_API hearth_function hearth_function_named(const char* name);
/* Functions are numbered from 1 to this. */
HEARTH_C_API uint32_t hearth_function_count(void);
/* "sum"; NULL for a number that is no function. */
HEARTH_C_API const char* hearth_function_name(hearth_function function);
/* What it takes and gives; NULL for a number that is no function:
 *
 *   sum(x; axes: i64_list = none, keepdim: bool = false) -> 1
 *   binary_cross_entropy(x, targets, weight?; reduction: none|mean|sum|batch_mean = mean) -> 1
 *   cat(arrays...; axis: i64) -> 1
 *
 * Inputs stand before the semicolon: "weight?" may be left out, "arrays..." is any number of them.
 * Parameters stand behind it, each with its type, as in the table of hearth_apply(), or with its
 * enumerators. One with a default may be left out; the default "none" stands for what no value
 * says: no array, no number, all axes, the default device. The number of results stands last, "n"
 * for a list. Commas separate inputs and parameters, and occur nowhere else. */
HEARTH_C_API const char* hearth_function_signature(hearth_function function);

/* Records a function. `inputs` are those of its signature, in that order. Each is an array; a
 * number, where the function takes one beside arrays; or HEARTH_NONE for one that may be left out,
 * which at the end may also be missing. A list of arrays is the inputs from its place on.
 *
 * `parameters` are those of its signature, by name, in any order. HEARTH_NONE says that one is not
 * given. A name that the signature lacks, a name given twice, and a value of a wrong type are
 * HEARTH_ERROR_INVALID_ARGUMENT. The types:
 *
 *   bool              HEARTH_FLAG
 *   i64               HEARTH_INT
 *   f64               HEARTH_FLOAT or HEARTH_INT
 *   i64_list          HEARTH_INTS, or HEARTH_INT for a list of one
 *   f64_list          HEARTH_FLOATS, or HEARTH_FLOAT for a list of one
 *   Slice_list        HEARTH_INTS: start, end and step of each axis; HEARTH_TO_END is no end
 *   array             HEARTH_ARRAY
 *   dtype, device     HEARTH_INT, or HEARTH_STRING: "f32", "cuda:1"
 *   string            HEARTH_STRING
 *   enumerators       HEARTH_STRING, the name of one of them
 *
 * `results` has room for `capacity` handles. `infos` may be NULL, or has room for as many
 * descriptions of the results, which say nothing where the call fails. `count` may be NULL, or
 * becomes the number of results, also where there are more than `capacity`: that is
 * HEARTH_ERROR_INVALID_ARGUMENT.
 *
 * Elements that serve as indices are checked only where the environment has
 * HEARTH_CHECK_INDICES=1. Unchecked, an index outside its range reads some value, and writes
 * nothing. */
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
 * An array of floats that is stored as codes and scales. A hearth_array names it, as any other.
 * hearth_apply() takes it: functions that move elements (reshape, permute, transpose, swap_axes,
 * expand, flip, slice, select, gather, repeat, cat) move its codes; the others dequantize it first,
 * and quantize their result where `propagates` says so. Reading gives its bytes as they are stored:
 * codes, scales of blocks, the tensor's scale. It has no gradients. */

/* What a code stands for before it is scaled: an integer of 8, 4 or 2 bits, of the full range (F)
 * or of a range symmetric around 0 (S); or a small float. */
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
/* Where codes lie: one in each byte, packed into words of 32 bits, or packed into bytes. */
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
  int32_t store_axis;             /* codes are packed along it; 0 is the innermost axis */
  int32_t tensor_scale;           /* HEARTH_SCALE_... of the tensor */
  int32_t block_scale;            /* HEARTH_SCALE_... of each block, else HEARTH_SCALE_NONE */
  int32_t block_rank;             /* how many extents `block` has */
  int64_t block[HEARTH_MAX_RANK]; /* of a block along the last axes; 1 along those before */
  int32_t propagates;             /* 1: floats computed from it are quantized again */
} hearth_scheme;

/* hearth_scheme scheme = HEARTH_SCHEME_INIT; is Q8F in words of 32 bits along the innermost axis,
 * with one scale for the tensor: f32, as of every scheme where both scales are HEARTH_SCALE_NONE. A
 * scheme of zeros is another: it has blocks. */
#define HEARTH_SCHEME_INIT \
  {HEARTH_Q8F, HEARTH_STORE_PACKED_U32, 0, HEARTH_SCALE_NONE, HEARTH_SCALE_NONE, 0, {0}, 0}

/* 1 where arrays can be quantized by this scheme, else 0. Their shapes have to be whole blocks. */
HEARTH_C_API hearth_status hearth_scheme_supported(const hearth_scheme* scheme, int32_t* supported);
/* `scales` are f32, one for each block; `global` is f32 [1], for a scheme with scales of blocks and
 * of the tensor, else a zero handle. Where `scales` is a zero handle, and `global` too, the scales
 * follow from the range of x. */
HEARTH_C_API hearth_status hearth_quantize(hearth_array x, const hearth_scheme* scheme,
                                           hearth_array scales, hearth_array global,
                                           hearth_array* quantized);
/* By the scheme of `like`. The scales follow from the range of x or, where `keeps_scales` is 1, are
 * those of `like`: for an x whose elements come from it. */
HEARTH_C_API hearth_status hearth_quantize_like(hearth_array x, hearth_array like,
                                                int32_t keeps_scales, hearth_array* quantized);
HEARTH_C_API hearth_status hearth_dequantize(hearth_array quantized, hearth_dtype dtype,
                                             hearth_array* x);
/* From bytes as reading gives them; `dtype` is that of the floats. */
HEARTH_C_API hearth_status hearth_array_from_quantized_bytes(
    const void* data, size_t bytes, const hearth_scheme* scheme, hearth_dtype dtype,
    const int64_t* shape, size_t rank, hearth_device device, hearth_array* quantized);
/* Its scheme, and how many bytes it is stored in. */
HEARTH_C_API hearth_status hearth_quantized_describe(hearth_array quantized, hearth_scheme* scheme,
                                                     size_t* bytes);
/* A copy on another device. */
HEARTH_C_API hearth_status hearth_quantized_to_device(hearth_array quantized, hearth_device device,
                                                      hearth_array* moved);

/* ---- DLPack
 *
 * Exchange of tensors with other libraries. Tensors of the CPU share their memory in both
 * directions, those of CUDA when they are given away; other memory is copied. Nobody may write to
 * memory that is shared. The structs are those of dlpack.h: DLManagedTensorVersioned of version 1,
 * DLManagedTensor of the versions before it. */

struct DLManagedTensorVersioned;
struct DLManagedTensor;

/* Computes the array, in row-major order. The tensor is the caller's, who calls its deleter; it
 * may outlive the handle. */
HEARTH_C_API hearth_status hearth_array_to_dlpack(hearth_array array,
                                                  struct DLManagedTensorVersioned** tensor);
HEARTH_C_API hearth_status hearth_array_to_dlpack_unversioned(hearth_array array,
                                                              struct DLManagedTensor** tensor);
/* Takes the tensor over, and calls its deleter when it is not needed any more. Where the call fails
 * the tensor stays the caller's. Whatever writes it must have finished before. A tensor of the CPU
 * becomes an array of `device`; its bools are looked at as hearth_array_from_memory() does. One of
 * CUDA is copied to `device`, which for HEARTH_DEFAULT_DEVICE
 * is its own card; it must be contiguous, else HEARTH_ERROR_UNSUPPORTED. */
HEARTH_C_API hearth_status hearth_array_from_dlpack(struct DLManagedTensorVersioned* tensor,
                                                    hearth_device device, hearth_array* array);
HEARTH_C_API hearth_status hearth_array_from_dlpack_unversioned(struct DLManagedTensor* tensor,
                                                                hearth_device device,
                                                                hearth_array* array);

/* ---- Random numbers */

/* Sets the seed of the process. The calling thread's generator starts again from it; those of
 * other threads are split from it. */
HEARTH_C_API hearth_status hearth_seed(uint64_t seed);

/* ---- Gradients */

/* A leaf of the same value: an array whose gradient hearth_backward() finds. */
HEARTH_C_API hearth_status hearth_array_require_grad(hearth_array array, hearth_array* leaf);
/* The same value, through which no gradients go. */
HEARTH_C_API hearth_status hearth_array_detach(hearth_array array, hearth_array* detached);
/* What this thread records between the two is not differentiated. Pairs nest. */
HEARTH_C_API hearth_status hearth_no_grad_begin(void);
HEARTH_C_API hearth_status hearth_no_grad_end(void);

typedef struct hearth_gradients {
  uint64_t id;
} hearth_gradients;

enum {
  HEARTH_RETAIN = 1,      /* keeps what the rules read, so that backward may run again */
  HEARTH_CREATE_GRAPH = 2 /* gradients can be differentiated; implies HEARTH_RETAIN */
};

/* The gradients of `loss`, which has one element, with respect to all leaves that it depends on.
 * `flags` is 0 or a sum of the above. */
HEARTH_C_API hearth_status hearth_backward(hearth_array loss, uint32_t flags,
                                           hearth_gradients* gradients);
/* That of one leaf: what hearth_array_require_grad() gave, or a copy of that handle. A zero handle,
 * with HEARTH_OK, where the loss does not depend on the leaf; HEARTH_ERROR_INVALID_ARGUMENT for an
 * array that is no leaf. */
HEARTH_C_API hearth_status hearth_gradients_get(hearth_gradients gradients, hearth_array leaf,
                                                hearth_array* gradient);
HEARTH_C_API hearth_status hearth_gradients_release(hearth_gradients gradients);

/* One gradient rule by itself, without a loss: the gradients of a function's inputs, where
 * `gradient` is that of its result number `result`. Inputs and parameters are as in hearth_apply().
 * results[i] is the gradient of inputs[i], or a zero handle where that is not an array of floats;
 * `capacity` is at least input_count. Of the function itself only that is computed which the rule
 * reads. */
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
/* Reads a file. Where the device reads the host's memory its arrays are the file, without a copy:
 * the file must not be changed in place while one of them lives. HEARTH_ERROR_UNSUPPORTED where a
 * name or a text has a byte of zero in it, at which C would end it; the message says which. */
HEARTH_C_API hearth_status hearth_archive_load(const char* path, hearth_device device,
                                               hearth_archive* archive);
/* Writes a file. Also where that fails, `path` then has its old contents or all of the new ones. */
HEARTH_C_API hearth_status hearth_archive_save(hearth_archive archive, const char* path);
HEARTH_C_API hearth_status hearth_archive_count(hearth_archive archive, size_t* count);
/* The name of an array by an index from 0, valid until the archive is changed or released. */
HEARTH_C_API hearth_status hearth_archive_name(hearth_archive archive, size_t index,
                                               const char** name);
/* HEARTH_ERROR_INVALID_ARGUMENT where no array has that name. */
HEARTH_C_API hearth_status hearth_archive_get(hearth_archive archive, const char* name,
                                              hearth_array* array);
/* HEARTH_ERROR_INVALID_ARGUMENT where an array has that name already. */
HEARTH_C_API hearth_status hearth_archive_add(hearth_archive archive, const char* name,
                                              hearth_array array);
/* NULL where no text has that name; valid until the archive is changed or released. */
HEARTH_C_API hearth_status hearth_archive_text(hearth_archive archive, const char* name,
                                               const char** text);
HEARTH_C_API hearth_status hearth_archive_set_text(hearth_archive archive, const char* name,
                                                   const char* text);
HEARTH_C_API hearth_status hearth_archive_release(hearth_archive archive);

#ifdef __cplusplus
}
#endif

#endif /* HEARTH_C_API_H_ */
