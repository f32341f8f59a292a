package dev.verbena.lab;

import dev.verbena.testing.Namespace;
import dev.verbena.testing.UdpWire;
import dev.verbena.verbs.Device;

/**
 * Runs {@link LabMain} with a software device over UDP, which {@code VERBENA_SOFT} describes, in
 * the namespace of a {@link UdpWire}.
 */
final class UdpLabMain {
  private UdpLabMain() {}

  public static void main(String[] args) throws Exception {
    Namespace.call(UdpWire.NAMESPACE, Device::list); // Opens the software device.
    LabMain.main(args);
  }
}
