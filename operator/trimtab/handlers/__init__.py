"""kopf wiring: watches fill the world, one supervised task runs the control loop."""
