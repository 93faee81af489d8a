"""Coded runs of a user's kernel: which element each slot holds, where it came from, who is to blame.

To be read in this order:

    subject           one kernel at one size, and the runs of it that anybody may ask for
    problem           the contract's matrix product
    operands          what A and B of every matrix instruction held, as elements of that product
    accumulators      where every D is stored
    parts             accumulators that are added up, and which are left out
    analysis          both together, held against the law of the product
    culprits          which of A, B and D is to blame, and why
    copies            operands whose copies in other lanes differ
    load_path         the loads and stores that a wrong value passed through
    places            how findings say where
    findings          culprits and differing copies in words
    lds_tiles         how tiles lie in LDS
    missing_barriers  races by the barrier that is missing
    gemm_faults       what known faults make of a product's values
    rounding          how far rounding may take a right result
    comparisons       outputs of runs beside what the contract says of them
    altered           what a Python reference gives of altered inputs
"""
