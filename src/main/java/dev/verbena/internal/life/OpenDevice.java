package dev.verbena.internal.life;

import dev.verbena.internal.MessageCounters;
import dev.verbena.internal.Provider;

/**
 * A device that is open, which all objects of its context belong to.
 *
 * @param provider calls C
 * @param name the name of the device
 * @param address the address of the {@code struct ibv_device}
 * @param loss what its loss changes
 */
public record OpenDevice(Provider provider, String name, long address, DeviceLoss loss) {
  /** {@return what connections over the device count} */
  public MessageCounters counters() {
    return MessageCounters.of(provider, name);
  }
}
