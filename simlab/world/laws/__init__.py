"""Say how answers come about: errors marked, outputs compared, outputs judged."""
