"""Reports of sweeps and of answers: what they hold, and the forms they are written in."""
