"""The documentation site: Sphinx over the Markdown pages of this folder (`make docs`)."""

import logging
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from builder.gallery import SETTINGS as sphinx_gallery_conf  # noqa: F401
from builder.gallery import forget_if_stale
from builder.sources import linkcode_resolve  # noqa: F401  (sphinx.ext.linkcode looks for it here)

forget_if_stale()
logging.getLogger("lcbo").setLevel(logging.WARNING)  # runs of the gallery do not belong in the output

project = "lcbo"
copyright = "the lcbo contributors"
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.linkcode",
    "sphinx_gallery.gen_gallery",
    "builder.mathml",
    "builder.pages",
    "builder.sources",
    "builder.links",
]
exclude_patterns = ["builder"]
suppress_warnings = ["myst.header"]  # generated pages skip a level of headings

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_type_aliases = {"Array": "Array"}
maximum_signature_line_length = 72
napoleon_use_ivar = True
napoleon_attr_annotations = False

# Markdown as GitHub reads it: dollars are mathematics, headings are anchors.
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3

html_theme = "furo"
html_title = "lcbo"
html_static_path = ["builder/static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_search_summary = False  # it fetches pages, which a browser refuses for files
html_show_sphinx = False
html_math_renderer = "mathml"
