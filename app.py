"""The dashboard: page settings and the list of pages. Draws nothing itself."""

import streamlit as st

from budget.ui.page import navigation

st.set_page_config(page_title="compute-budget", page_icon="📊", layout="wide")
navigation().run()
