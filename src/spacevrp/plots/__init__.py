"""Pictures of instances and solutions. matplotlib is an extra and imported when one is drawn."""

from spacevrp.plots.maps import plot_instance, plot_solution
from spacevrp.plots.pictures import save_picture
from spacevrp.plots.style import require_matplotlib

__all__ = ["plot_instance", "plot_solution", "require_matplotlib", "save_picture"]
