"""The study of Wei, Kurtz and Cloppet (2025), repeated on images and a graph of one's own: see docs/study.md."""
