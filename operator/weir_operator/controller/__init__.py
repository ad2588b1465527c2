"""The one loop: observe -> plan -> apply -> report, over ports for cluster, metrics and exchange."""
