"""Capacity, under each of the load rules, on the four customers of the shared instance."""

from __future__ import annotations

# Customers 1 and 4 receive, 2 and 3 hand over.
MIXED = (0.0, 4.0, -3.0, -5.0, 2.0)


def test_single_keeps_the_spread_of_prefix_sums(four_customers, drive):
    # Prefix sums of 1, 3, 4, 2 are 4, -1, 1, -2; used and credit are measured from min and max.
    van = drive(four_customers(demand=MIXED, capacity=6.0, load_rule="single"), 1)
    assert (van.number("used"), van.number("credit")) == (4.0, 0.0)
    van(3)
    assert (van.number("used"), van.number("credit")) == (0.0, 5.0)
    # After 2 the sums would span 4 to -4, which is 8; 4 brings them to 1, which is within.
    assert van.legal == [0, 4]
    van(4)
    assert (van.number("used"), van.number("credit")) == (2.0, 3.0)
    assert van.legal == [0, 2]  # 1 - 3 = -2: a span of 6 fits exactly


def test_paper_leaves_full_and_starts_with_a_linehaul(four_customers, drive):
    van = drive(four_customers(demand=MIXED, capacity=6.0, load_rule="paper"), 1)
    assert van.number("used") == 4.0  # empty space of a vehicle that left full
    assert van.legal == [0, 2, 4]  # picking up 5 needs more than these 4
    van(2)
    assert van.number("used") == 1.0
    van(0)
    assert van.number("used") == 0.0
    assert van.legal == [4]  # a linehaul is left, so 3 cannot come first
    van(4, 0)
    assert van.number("used") == 6.0  # only a backhaul is left: it leaves empty
    assert van.legal == [3]
    assert van(3).number("used") == 1.0


def test_separate_carries_what_it_collects_to_the_depot(four_customers, drive):
    van = drive(four_customers(demand=MIXED, capacity=8.0, load_rule="separate"), 2)
    assert (van.number("used"), van.number("credit")) == (3.0, 3.0)
    van(1)  # 4 for customer 1 and 3 collected were on board together
    assert (van.number("used"), van.number("credit")) == (7.0, 3.0)
    assert van.legal == [0, 3]  # 3 + 5 collected fit; 2 for customer 4 would have made 9
    van(3)
    assert (van.number("used"), van.number("credit")) == (8.0, 8.0)
    assert van.legal == [0]


def test_paired_goods_come_aboard_and_leave(four_customers, drive):
    problem = four_customers(
        demand=(0.0, -4.0, -3.0, 4.0, 3.0), capacity=5.0, pairs=((1, 3), (2, 4))
    )
    van = drive(problem, 1)
    assert van.number("used") == 4.0
    assert van.number("pending") == 1
    assert van.legal == [3]  # no room for 2, nothing to hand over to 4, and not empty
    van(3)
    assert van.number("used") == 0.0
    assert van.legal == [0, 2]


def test_whole_loads_fill_a_vehicle_exactly_but_not_beyond(four_customers, drive):
    thirds = (0.0, 1 / 3, 1 / 3, 1 / 3, 2e-4)
    van = drive(four_customers(demand=thirds, capacity=1.0), 1)
    van(2)
    assert van.legal == [0, 3, 4]  # three thirds are one, whatever the last bit says
    assert van(3).legal == [0]
