/* Hearth from C: a linear model is fitted by gradient descent. */
#include <stdio.h>
#include <stdlib.h>

#include "hearth/c_api.h"

/* Every call returns a status; an example does nothing about it but say what went wrong. */
static void check(hearth_status status) {
  if (status == HEARTH_OK) return;
  fprintf(stderr, "%s: %s\n", hearth_status_name(status), hearth_error_message());
  exit(1);
}

/* A function of one result. */
static hearth_array apply(const char* name, const hearth_value* inputs, size_t count) {
  hearth_array result;
  check(hearth_apply(hearth_function_named(name), inputs, count, NULL, 0, &result, NULL, 1, NULL));
  return result;
}

/* The same of two inputs, the first of which is an array that is not needed any more. */
static hearth_array then(const char* name, hearth_array x, hearth_value y) {
  const hearth_value inputs[] = {hearth_of_array(x), y};
  const hearth_array result = apply(name, inputs, 2);
  check(hearth_array_release(x));
  return result;
}

int main(void) {
  enum { kRows = 64, kSteps = 200 };
  float x_data[kRows], y_data[kRows];
  for (int i = 0; i < kRows; ++i) {
    x_data[i] = (float)i / kRows;
    y_data[i] = 3 * x_data[i] + 1;
  }
  const int64_t shape[] = {kRows};
  hearth_array x, y, slope, offset;
  check(hearth_array_from_bytes(x_data, sizeof x_data, HEARTH_F32, shape, 1,
                                HEARTH_DEFAULT_DEVICE, &x));
  check(hearth_array_from_bytes(y_data, sizeof y_data, HEARTH_F32, shape, 1,
                                HEARTH_DEFAULT_DEVICE, &y));
  const float zero = 0;
  check(hearth_array_from_bytes(&zero, sizeof zero, HEARTH_F32, NULL, 0, HEARTH_DEFAULT_DEVICE,
                                &slope));
  check(hearth_array_copy(slope, &offset));

  hearth_array* const parameters[] = {&slope, &offset};
  float loss_value = 0;
  for (int step = 0; step < kSteps; ++step) {
    /* Leaves: the arrays whose gradients are wanted. */
    hearth_array leaves[2];
    for (int i = 0; i < 2; ++i) check(hearth_array_require_grad(*parameters[i], &leaves[i]));

    /* loss = mean((slope * x + offset - y)^2) */
    const hearth_value product[] = {hearth_of_array(leaves[0]), hearth_of_array(x)};
    hearth_array error = apply("mul", product, 2);
    error = then("add", error, hearth_of_array(leaves[1]));
    error = then("sub", error, hearth_of_array(y));
    error = then("pow", error, hearth_of_float(2));
    const hearth_value squares[] = {hearth_of_array(error)};
    const hearth_array loss = apply("mean", squares, 1);
    check(hearth_array_release(error));

    hearth_gradients gradients;
    check(hearth_backward(loss, 0, &gradients));
    for (int i = 0; i < 2; ++i) {
      hearth_array gradient;
      check(hearth_gradients_get(gradients, leaves[i], &gradient));
      gradient = then("mul", gradient, hearth_of_float(0.5));
      *parameters[i] = then("sub", *parameters[i], hearth_of_array(gradient));
      check(hearth_array_release(gradient));
      check(hearth_array_release(leaves[i]));
    }
    check(hearth_gradients_release(gradients));
    /* Reading computes what was recorded so far, the parameters among it. */
    check(hearth_array_read(loss, &loss_value, sizeof loss_value));
    check(hearth_array_release(loss));
  }

  float fitted[2];
  for (int i = 0; i < 2; ++i) {
    check(hearth_array_read(*parameters[i], &fitted[i], sizeof fitted[i]));
    check(hearth_array_release(*parameters[i]));
  }
  check(hearth_array_release(x));
  check(hearth_array_release(y));
  printf("y = %.3f x + %.3f, loss %.2g\n", fitted[0], fitted[1], loss_value);
  return loss_value < 1e-3f ? 0 : 1;
}
