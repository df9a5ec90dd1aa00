// The list of factorizations of matrices, and of what solves by them.
#include "devices/cpu/ops/decompositions/decompositions.h"

#include "ops/definition/defs.h"

namespace hearth::cpu {
namespace {

constexpr Implementation kImplementations[] = {
    {.name = "blocks", .op = &defs::cholesky_op, .launch = launch_cholesky},
    {.name = "ql", .op = &defs::eigh_op, .launch = launch_eigh, .may_omit = 0b11},
    {.name = "blocks", .op = &defs::lu_factor_op, .launch = launch_lu, .may_omit = 0b110},
    {.name = "householder", .op = &defs::qr_op, .launch = launch_qr, .may_omit = 0b11},
    {.name = "bidiagonal", .op = &defs::svd_op, .launch = launch_svd, .may_omit = 0b111},
    {.name = "halves", .op = &defs::triangular_solve_op, .launch = launch_triangular_solve},
};

}  // namespace

Family decompositions_family() { return kImplementations; }

}  // namespace hearth::cpu
