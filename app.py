"""The dashboard: page settings and the list of pages. Draws nothing itself."""

import streamlit as st

from budget.ui.page import PAGES, language

st.set_page_config(page_title="compute-budget", page_icon="📊", layout="wide")
words = language()
st.navigation(
    [
        st.Page(f"pages/{name}.py", title=words.text(title), icon=icon, default=name == "decision")
        for name, (title, icon) in PAGES.items()
    ],
    position="top",
).run()
