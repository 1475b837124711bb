"""Few weighted points whose mean feature is the released one."""
