package dev.verbena.soft.wire;

import dev.verbena.internal.time.Time;
import java.net.InetAddress;
import java.util.concurrent.locks.LockSupport;

/** The link of a network without connection: packets for others are lost. */
public final class NoLink implements NetworkLink {
  private static final int MTU = 4096;

  @Override
  public void send(Packet packet) {}

  @Override
  public void flush() {}

  @Override
  public boolean receive() {
    return false;
  }

  @Override
  public void sleep(long nanos) {
    Time.park(this, nanos);
  }

  @Override
  public void rest(long nanos) {
    sleep(nanos);
  }

  @Override
  public void wake(Thread thread) {
    LockSupport.unpark(thread);
  }

  @Override
  public boolean isConnected() {
    return false;
  }

  @Override
  public int mtu() {
    return MTU;
  }

  @Override
  public boolean reaches(Gids own, InetAddress peer) {
    return false;
  }

  @Override
  public boolean isNear(InetAddress peer) {
    return false;
  }

  @Override
  public void join(Gids own, Gids group) {}

  @Override
  public void leave(Gids own, Gids group) {}

  @Override
  public void close() {}
}
