"""The benchmark of the edge: starts proxies side by side, drives them with bench_load, writes down what came out."""
