package dev.verbena.aeron;

import io.aeron.driver.media.PortManager;
import io.aeron.driver.media.UdpChannel;
import java.net.BindException;
import java.net.InetSocketAddress;

/**
 * The port manager of a driver's receiver, which also refuses sockets that the rules forbid. It is
 * the one place that Aeron asks for each unicast socket before it is opened, also for those of
 * destinations (MDS), of which the supplier of endpoints is not told.
 */
record RulePorts(PortManager ports, Rules rules) implements PortManager {
  @Override
  public InetSocketAddress getManagedPort(UdpChannel channel, InetSocketAddress local)
      throws BindException {
    rules.requireDevice(local, local.getAddress());
    return ports.getManagedPort(channel, local);
  }

  @Override
  public void freeManagedPort(InetSocketAddress local) {
    ports.freeManagedPort(local);
  }
}
