"""Network usage as an objective ([1]_; model.md section 5): join order, placement and reuse at once.

References
----------
.. [1] Sangeetha Seshadri, Vibhore Kumar, Brian Cooper, Ling Liu, "A Distributed Stream Query Optimization
       Framework through Integrated Planning and Deployment", IEEE TPDS 20, 2009 (Hierarchical partitions).
"""
