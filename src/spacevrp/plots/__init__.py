"""Pictures of instances and solutions. matplotlib is an extra and imported when one is drawn."""

from spacevrp.plots.layout import positions
from spacevrp.plots.maps import plot_instance, plot_solution, require_matplotlib, save_plot

__all__ = ["plot_instance", "plot_solution", "positions", "require_matplotlib", "save_plot"]
