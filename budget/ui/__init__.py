"""What the pages draw with. The only place besides ``pages/`` and ``app.py`` that knows Streamlit."""
