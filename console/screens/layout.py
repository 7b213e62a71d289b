"""Where the panes stand, by the size of the terminal; how they look is their own affair."""

from __future__ import annotations

LAYOUT = """
MainScreen {
    #above { layout: vertical; height: auto; }
    #middle { layout: horizontal; height: auto; }
    #server { width: 1fr; }
    #status { width: 38; }

    #verdict { max-height: 5; Card { max-height: 4; } }
    #verdict.-urgent { max-height: 7; Card { max-height: 6; } }
    #progress { max-height: 9; }
    LogView { display: none; }
    LogView.-shown { display: block; }

    &.-wide, &.-huge {
        #server { width: 3fr; }
        #status { width: 2fr; }
        LogView { display: block; }
    }
    &.-tall {
        #verdict, #verdict.-urgent { max-height: 12; Card { max-height: 10; } }
        #progress { max-height: 40vh; }
    }
    &.-huge {
        #above { layout: horizontal; }
        #verdict, #progress, #server, #status { width: 1fr; }
    }
    #verdict.-maximized, #progress.-maximized, #server.-maximized, #status.-maximized, #logs.-maximized {
        width: 1fr;
        height: 1fr;
        max-height: 100%;
        Card { max-height: 100%; }
    }
}
"""
"""Three widths: one log at a time below 110 columns, both from there on, verdict beside the datasets from 170 on.

A grid would be shorter, but its rows of automatic height measure a pane that spans columns by the first column's width.
"""
