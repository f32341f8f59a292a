/** A module that depends on Verbena's. */
module app {
  requires dev.verbena;
}
