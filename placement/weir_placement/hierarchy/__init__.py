"""Hierarchical network partitions and the planners that work on them ([1]_, section 3).

References
----------
.. [1] Sangeetha Seshadri, Vibhore Kumar, Brian Cooper, Ling Liu, "A Distributed Stream Query Optimization
       Framework through Integrated Planning and Deployment", IEEE TPDS 20, 2009 (Hierarchical partitions).
"""
