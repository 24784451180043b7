"""Performance measures: the parts that rate the outcomes of studies."""
