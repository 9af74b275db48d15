"""The MCP server: tools, resources and prompts over stdio or HTTP on loopback, on the use cases of `app`.

The loop over stdio is our own: to import the official SDK takes 52 times what a bare Python takes, its types
alone 25 times, and a client waits for that at the start of each session. The SDK serves HTTP, where one
server stands for many clients, and its client tests both.
"""
