"""kopf wiring: watches fill the object cache, one supervised task runs the control loop."""
