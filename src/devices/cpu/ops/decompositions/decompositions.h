// The launches of the family: factorizations of matrices and what solves by them, batched. What is
// not finite makes a matrix's results NaN.
#pragma once

#include "graph/implementation.h"

namespace hearth::cpu {

void launch_cholesky(const Launch& launch);
void launch_eigh(const Launch& launch);
void launch_lu(const Launch& launch);
void launch_qr(const Launch& launch);
void launch_svd(const Launch& launch);
void launch_triangular_solve(const Launch& launch);

}  // namespace hearth::cpu
