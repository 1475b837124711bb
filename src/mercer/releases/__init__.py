"""What is public for ever: releases, their files, and everything that follows from them."""
