"""The page that `reverie open` shows: memories, days, dreams, inbox, graph, cost and health, in a browser.

gate        who is answered at all: the token in the address, this machine's names, the same origin
serving     the server on loopback, which ends by itself when nobody asks any more
site        all addresses, and the one catch-all boundary around them
visit        what a page needs of one request: the store it is about, its form, its answer
rendering   templates, with every text escaped
pages/      one module a page
"""
