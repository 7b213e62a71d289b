"""How the batch runner measures up: requests per second, CPU, memory, start, kills; beside other clients."""
