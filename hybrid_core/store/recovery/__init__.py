"""What a damaged catalog still holds, brought into a new one."""
