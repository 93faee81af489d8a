"""Programs of the emulator's tests, compiled for RDNA4."""

from __future__ import annotations

import pytest
from corpus_runs import retarget
from emulator.test_divergence import (  # noqa: F401
    test_a_barrier_in_each_turn_of_a_loop,
    test_both_barriers_of_a_turn_count,
    test_lanes_go_their_own_ways,
    test_lanes_that_have_returned,
    test_waves_go_their_own_ways,
    test_waves_that_have_ended_do_not_hold_up_a_barrier,
    test_workgroups_of_one_batch_go_their_own_ways,
)
from emulator.test_launch import (  # noqa: F401
    test_a_struct_by_value,
    test_a_table_of_addresses_is_relocated,
    test_constants_are_found_relative_to_the_code,
    test_dynamic_lds_is_as_large_as_the_launch_says,
    test_every_work_item_knows_its_place,
    test_hidden_arguments_tell_the_extents,
    test_many_workgroups,
    test_scalar_arguments_of_every_size,
    test_static_device_memory_starts_at_zero_in_every_launch,
    test_workgroups_have_lds_of_their_own,
)
from emulator.test_memory import (  # noqa: F401
    test_a_histogram_counts_every_lane,
    test_a_private_array_is_each_lanes_own,
    test_compare_and_swap_lets_every_lane_have_its_turn,
    test_counting_down_from_an_offset,
    test_eight_halves_at_any_even_address,
    test_every_ticket_is_given_once,
    test_flat_accesses_of_every_width,
    test_float_atomics_add_up,
    test_integer_atomics_that_collide,
    test_one_pointer_into_three_memories,
    test_packed_structs,
    test_private_bytes_and_halves,
    test_the_last_workgroup_sees_what_the_others_left,
)
from emulator.test_programs import (  # noqa: F401
    test_activations,
    test_histogram_of_bytes,
    test_layernorm,
    test_reduction_within_rows,
    test_scan_within_rows,
    test_softmax,
    test_transpose_through_padded_lds,
    test_transpose_through_swizzled_lds,
)


@pytest.fixture(autouse=True)
def _rdna4(monkeypatch: pytest.MonkeyPatch) -> None:
    retarget(monkeypatch, "gfx1201")
