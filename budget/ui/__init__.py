"""What the pages draw with: besides ``pages/`` and ``app.py`` the only place with Streamlit."""
