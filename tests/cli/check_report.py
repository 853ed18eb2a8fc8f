"""What the data of a page hold.   check_report.py PAGE QUESTION..."""
import json
import re
import sys

with open(sys.argv[1], encoding="utf-8") as page:
    html = page.read()
FILES = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.S).group(1))


def names(table):
    return [column["name"] for column in table["columns"] if "made" not in column]


def values(table, name):
    return next(column["values"] for column in table["columns"] if column["name"] == name)


def plots(table):
    return [(p["x"], [y["column"] for y in p["y"]], [y["error"] for y in p["y"]], p["group"]) for p in table["plots"]]


sys.exit(0 if eval("(" + sys.argv[2] + ")", {"F": FILES, "T": FILES[0]["tables"][0], "names": names, "values": values, "plots": plots,
                                 "html": html, "re": re, "json": json}) else 1)
