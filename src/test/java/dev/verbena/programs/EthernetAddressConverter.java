package dev.verbena.programs;

import dev.verbena.address.EthernetAddress;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Reads an Ethernet address such as 02:00:00:00:00:0a. */
final class EthernetAddressConverter implements ITypeConverter<EthernetAddress> {
  @Override
  public EthernetAddress convert(String text) {
    try {
      return EthernetAddress.parse(text);
    } catch (IllegalArgumentException e) {
      throw new TypeConversionException(e.getMessage());
    }
  }
}
