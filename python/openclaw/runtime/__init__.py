"""Cache, queue, controller, manager, and what a reconciler is given."""
