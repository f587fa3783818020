"""llama.cpp's own server on the loopback: serve.py MODEL.gguf PORT SLOTS."""

import sys
import time

import xllamacpp

params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.hostnames = ["127.0.0.1"]
params.port = int(sys.argv[2])
params.n_parallel = int(sys.argv[3])
params.n_ctx = 2048 * params.n_parallel
params.kv_unified = False
params.cpuparams.n_threads = 2
params.cache_ram_mib = 0
server = xllamacpp.Server(params)
while True:
    time.sleep(60)
