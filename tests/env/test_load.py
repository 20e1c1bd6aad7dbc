"""Capacity, under each of the load rules, on the four customers of the shared instance."""

from __future__ import annotations

# Customers 1 and 4 receive, 2 and 3 hand over.
MIXED = (0.0, 4.0, -3.0, -5.0, 2.0)


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
